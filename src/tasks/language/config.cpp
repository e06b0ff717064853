#include "tasks/language/config.h"

#include <cmath>

#include "base/text.h"
#include "primal/error.h"

namespace primal::tasks {

namespace {

constexpr base::Names<Breaks, 2> kBreakNames{{{"none", Breaks::none}, {"document", Breaks::document}}};
constexpr base::Names<models::Positions, 3> kPositionNames{{{"sinusoidal", models::Positions::sinusoidal},
                                                            {"learnt", models::Positions::learnt},
                                                            {"none", models::Positions::none}}};
constexpr base::Names<models::AttentionInit, 2> kInitNames{
    {{"default", models::AttentionInit::as_layers}, {"xavier", models::AttentionInit::xavier}}};
constexpr base::Names<Activation, 2> kActivationNames{{{"relu", Activation::relu}, {"gelu", Activation::gelu}}};

void add_data_settings(base::Settings& settings, LanguageDataOptions& data) {
  settings.add("data.set", &data.set, "wikitext-2, wikitext-103, enwik8 or python-source");
  settings.add("data.train", &data.train, "own training text instead of a set");
  settings.add("data.validation", &data.validation, "own validation text; else the end of data.train is held out");
  settings.add("data.test", &data.test, "own test text; else another part of the end of data.train");
  settings.add("data.unit", &data.unit, "words, bytes or subwords");
  settings.add("data.subwords", &data.subwords, "model file of subwords; else one is made from TRAIN");
  settings.add("data.subword_size", &data.subword_size, "ids of a model that is made", base::count_from(1));
  settings.add("data.threshold", &data.threshold, "words that are rarer in TRAIN are unknown", base::count_from(1));
  settings.add("data.most_words", &data.most_words, "of the vocabulary; 0 = any number", base::count_from(0));
  settings.add("data.bytes", &data.bytes, "of enwik8: the first so many; 0 = all", base::count_from(0));
  settings.add("data.block", &data.block, "tokens of a training example", base::count_from(1));
  settings.add("data.breaks", base::choice(data.breaks, kBreakNames),
               "none: blocks of equal length; document: a block has tokens of one document only");
}

}  // namespace

void LanguageConfig::add_own_settings(base::Settings& settings) {
  add_data_settings(settings, data);
  tasks::add_settings(settings, static_cast<EncoderConfig&>(model));
  settings.add("model.positions", base::choice(model.positions, kPositionNames), "sinusoidal, learnt or none");
  settings.add("model.activation", base::choice(model.activation, kActivationNames), "of the feed-forward part");
  settings.add("model.attention_init", base::choice(model.attention_init, kInitNames),
               "of the projections: default, or xavier as published");
  settings.add("model.attention_dropout", &model.attention_dropout, "of softmax weights", base::share());
  settings.add("model.cutoffs", base::WordOrNumbers{{"none"}, &model.cutoff_word, &model.cutoffs},
               "ids from which on rarer words have narrower vectors (adaptive input and output), or none");
  settings.add("model.adaptive_factor", &model.adaptive_factor, "by which the vectors of each such range are narrower",
               base::count_from(1));
  tasks::add_settings(settings, static_cast<KsvdOptions&>(loss));
  settings.add("loss.eta_per_token", &loss.eta_per_token,
               "the KSVD term is added to the sum over the tokens of a batch, as published, not to their mean");
  settings.add("loss.label_smoothing", &loss.label_smoothing, "of the cross entropy", base::share());
  settings.add("eval.context", &eval.context, "tokens that every scored token of TEST sees at least",
               base::count_from(0));
  settings.add("eval.sample_tokens", &eval.sample_tokens, "of each sample in the report; 0 = no samples",
               base::count_from(0));
}

std::vector<OwnFile> LanguageConfig::own_files() {
  return {{"data.train", train::Part::train, &data.train},
          {"data.validation", train::Part::validation, &data.validation},
          {"data.test", train::Part::test, &data.test},
          {"data.subwords", train::Part::train, &data.subwords}};
}

void LanguageConfig::check_own() const {
  tasks::check(static_cast<const EncoderConfig&>(model));
  if (data.unit != "words" && data.unit != "bytes" && data.unit != "subwords") {
    base::fail("data.unit", "expected words, bytes or subwords, got ", base::in_quotes(data.unit));
  }
  if (!has_own_files() && !(data.test.empty() && data.validation.empty())) {
    throw Error(std::string(data.test.empty() ? "data.validation" : "data.test") + ": given without data.train");
  }
  if (run.refit) throw Error("run.refit: this family of tasks has no refit");
  for (const double cutoff : model.cutoffs) {
    if (cutoff != std::floor(cutoff) || cutoff < 1 || cutoff > 1e9) {
      base::fail("model.cutoffs", "expected whole numbers from 1 on, got ", cutoff);
    }
  }
  if (!model.cutoffs.empty() && loss.label_smoothing > 0) {
    base::fail("loss.label_smoothing", "expected 0 with model.cutoffs, got ", loss.label_smoothing);
  }
  if (eval.context >= data.block) {
    base::fail("eval.context", "expected less than a block of ", data.block, " tokens, got ", eval.context);
  }
}

models::LanguageModelOptions model_options(const LanguageConfig& config, int64_t vocabulary,
                                           std::optional<int64_t> padding) {
  const LanguageModelConfig& model = config.model;
  models::LanguageModelOptions options{
      .vocabulary = vocabulary,
      .tokens = config.data.block,
      .padding = padding,
      .positions = model.positions,
      .dropout = model.dropout,
      .attention_init = model.attention_init,
      .adaptive = {.cutoffs = {model.cutoffs.begin(), model.cutoffs.end()}, .factor = model.adaptive_factor},
      .layers = layer_options(model, config.data.block)};
  for (nn::EncoderLayerOptions& layer : options.layers) {
    layer.activation = model.activation;
    layer.attention.causal = true;
    layer.attention.dropout = model.attention_dropout;
    layer.attention.primal.rows = 0;  // causal weights are not made from rows
    // A causal primal layer forgets inside its attention, head by head, which serves better than averages before it.
    layer.memory = LayerMemory::none;
    layer.attention.primal.memory = model.memory == LayerMemory::decay ? Memory::decay : Memory::mean;
    layer.attention.primal.memory_tokens = config.data.block;
  }
  return options;
}

}  // namespace primal::tasks
