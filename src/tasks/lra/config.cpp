#include "tasks/lra/config.h"

#include "base/text.h"
#include "tasks/lra/sources.h"

namespace primal::tasks {

namespace {

constexpr base::Names<Black, 2> kBlackNames{{{"pixel", Black::pixel}, {"padding", Black::padding}}};
constexpr base::Names<PaddedTo, 2> kPaddedToNames{{{"batch", PaddedTo::batch}, {"full", PaddedTo::full}}};
constexpr base::Names<models::TokenPooling, 2> kTokenPoolingNames{
    {{"mean", models::TokenPooling::mean}, {"padded_mean", models::TokenPooling::padded_mean}}};

}  // namespace

train::Part LraConfig::published_selection() const {
  return lra_source(data.task).has_validation ? train::Part::validation : train::Part::test;
}

void LraConfig::add_own_settings(base::Settings& settings) {
  settings.add("data.task", &data.task, "listops, text, retrieval, retrieval-wikitext, image or pathfinder");
  settings.add("data.tokens", &data.tokens, "longer sequences are cut; 0 = as the task has it", base::count_from(0));
  settings.add("data.validation", &data.validation, "share of TRAIN held out where a task has no validation part",
               base::share());
  settings.add("data.black", base::choice(data.black, kBlackNames), "of images; padding: published, 0 is masked");
  settings.add("data.padded_to", base::choice(data.padded_to, kPaddedToNames),
               "batch: to its longest sequence; full: published");
  tasks::add_settings(settings, static_cast<EncoderConfig&>(model));
  settings.add("model.hidden", &model.hidden, "width inside the head", base::count_from(1));
  settings.add("model.vocabulary", &model.vocabulary, "ids; 0 = as many as there are", base::count_from(0));
  settings.add("model.pooling", base::choice(model.pooling, kTokenPoolingNames),
               "mean: over the real tokens; padded_mean: published, divides by the padded length");
  tasks::add_settings(settings, static_cast<KsvdOptions&>(loss));
  settings.add("loss.label_smoothing", &loss.label_smoothing, "of the cross entropy", base::share());
}

void LraConfig::check_own() const {
  tasks::check(static_cast<const EncoderConfig&>(model));
  const LraSource& source = lra_source(data.task);
  if (model.vocabulary > 0 && model.vocabulary < source.symbols + 1) {
    base::fail("model.vocabulary", "expected 0 or at least ", source.symbols + 1, " for ", data.task, ", got ",
               model.vocabulary);
  }
  if (!source.has_validation && data.validation == 0 && run.protocol == Protocol::honest) {
    base::fail("data.validation", "expected more than 0 with the honest protocol, which holds a part of ", data.task,
               " out, got 0");
  }
}

}  // namespace primal::tasks
