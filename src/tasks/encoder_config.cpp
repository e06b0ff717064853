#include "tasks/encoder_config.h"

#include <algorithm>

#include "base/text.h"
#include "nn/attention/kinds.h"
#include "primal/error.h"

namespace primal::tasks {

namespace {

constexpr base::Names<Padding, 2> kPaddingNames{{{"respect", Padding::respect}, {"ignore", Padding::ignore}}};
constexpr base::Names<Init, 2> kInitNames{{{"reference", Init::reference}, {"per_head", Init::per_head_orthonormal}}};
constexpr base::Names<LayerMemory, 2> kMemoryNames{{{"none", LayerMemory::none}, {"decay", LayerMemory::decay}}};

constexpr base::Names<Projections, 3> kProjectionNames{
    {{"both", Projections::both}, {"right", Projections::right}, {"left", Projections::left}}};
constexpr base::Names<LambdaForm, 3> kLambdaNames{
    {{"squared", LambdaForm::squared}, {"softplus", LambdaForm::softplus}, {"exp", LambdaForm::exp}}};

constexpr base::Names<nn::Masking, 2> kMaskingNames{
    {{"right", nn::Masking::right}, {"published", nn::Masking::published}}};

bool is_primal_kind(const std::string& layer) { return layer == "primal"; }

}  // namespace

void add_settings(base::Settings& settings, EncoderConfig& model) {
  settings.add("model.layers", &model.layers, "the attention of each layer", nn::attention_kinds());
  settings.add("model.width", &model.width, "D", base::at_least(1));
  settings.add("model.heads", &model.heads, "H", base::at_least(1));
  settings.add("model.feed_forward", &model.feed_forward, "inner width of the feed-forward part", base::at_least(1));
  settings.add("model.rank", &model.rank, "s of the kernel SVD; a list: of each layer", base::count_from(1));
  settings.add("model.rows", &model.rows,
               "n, sampled rows; 0 = rows_per_rank rank; at most the longest training sequence", base::count_from(0));
  settings.add("model.rows_per_rank", &model.rows_per_rank, "n / s where model.rows is 0", base::count_from(1));
  settings.add("model.feature_map", &model.feature_map, "phi");
  settings.add("model.data_dependent", &model.data_dependent,
               "We and Wr are made from rows of the sequence; not where a layer is causal");
  settings.add("model.projections", base::choice(model.projections, kProjectionNames),
               "the scores that make the output: e and r, right: e alone, left: r alone");
  settings.add("model.lambda", base::choice(model.lambda, kLambdaNames), "what keeps Lambda positive");
  settings.add("model.dropout", &model.dropout, "everywhere", base::share());
  settings.add("model.norm_first", &model.norm_first, "pre-norm");
  settings.add("model.padding", base::choice(model.padding, kPaddingNames), "ignore: published");
  settings.add("model.masking", base::choice(model.masking, kMaskingNames),
               "of softmax and the rivals; published: as the published LRA code masks, kind by kind");
  settings.add("model.init", base::choice(model.init, kInitNames), "of We and Wr");
  settings.add("model.memory", base::choice(model.memory, kMemoryNames),
               "decay: fading averages of the tokens before each attention; none: published");
  settings.add("model.memory_scales", &model.memory_scales, "their time scales, for each channel and direction",
               base::count_from(1));
  settings.add("model.convolution", &model.convolution,
               "tokens of a short convolution before each attention, odd; 0 = none", base::count_from(0));
  add_settings(settings, model.rivals);
}

void check(const EncoderConfig& model) {
  if (model.layers.empty()) throw Error("model.layers: expected at least one layer, got none");
  if (model.width % model.heads != 0) {
    base::fail("model.width", model.width, " is not divisible by ", model.heads, " heads");
  }
  if (model.rank.size() != 1 && model.rank.size() != model.layers.size()) {
    base::fail("model.rank", "expected one number or one for each of the ", model.layers.size(), " layers, got ",
               model.rank.size());
  }
  if (model.convolution > 0 && model.convolution % 2 == 0) {
    base::fail("model.convolution", "expected an odd number or 0, got ", model.convolution);
  }
  check(model.rivals);
}

int64_t rank_of(const EncoderConfig& model, size_t layer) {
  return model.rank.size() == 1 ? model.rank.front() : model.rank.at(layer);
}

std::vector<nn::EncoderLayerOptions> layer_options(const EncoderConfig& model, int64_t tokens) {
  std::vector<nn::EncoderLayerOptions> layers;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const int64_t rank = rank_of(model, i);
    const int64_t rows = std::min(tokens, model.rows > 0 ? model.rows : model.rows_per_rank * rank);
    layers.push_back(
        {.attention = {.kind = model.layers[i],
                       .width = model.width,
                       .heads = model.heads,
                       .dropout = model.dropout,
                       .padding = model.padding,
                       .masking = model.masking,
                       .tokens = tokens,
                       .primal = {.rank = rank,
                                  .rows = rows,
                                  .feature_map = model.feature_map,
                                  .data_dependent = model.data_dependent ? std::nullopt : std::optional(false),
                                  .lambda = model.lambda,
                                  .init = model.init,
                                  .projections = model.projections}},
         .feed_forward = model.feed_forward,
         .dropout = model.dropout,
         .norm_first = model.norm_first,
         .memory = model.memory,
         .memory_scales = model.memory_scales,
         .kernel = model.convolution});
    apply(model.rivals, layers.back().attention);
  }
  return layers;
}

std::string model_name(const EncoderConfig& model) {
  const auto& layers = model.layers;
  const auto primal = std::ranges::count_if(layers, is_primal_kind);
  if (primal == std::ssize(layers)) return "PrimalFormer";
  if (primal == 1 && is_primal_kind(layers.back())) return "Primal.+";
  if (std::ranges::count(layers, layers.front()) < std::ssize(layers)) return "mixed";
  return layers.front() == "softmax" ? "Transformer" : layers.front();
}

}  // namespace primal::tasks
