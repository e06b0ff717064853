#include "tasks/time_series/config.h"

#include "base/text.h"
#include "primal/error.h"

namespace primal::tasks {

namespace {

constexpr base::Names<models::Pooling, 2> kPoolingNames{
    {{"flatten", models::Pooling::flatten}, {"mean", models::Pooling::mean}}};
constexpr base::Names<models::TimeInput, 2> kTimeNames{
    {{"order", models::TimeInput::order}, {"bochner", models::TimeInput::bochner}}};

}  // namespace

void TimeSeriesConfig::add_own_settings(base::Settings& settings) {
  settings.add("data.set", &data.set, "name of a UEA set on the search path");
  settings.add("data.train", &data.train, "own training file (.ts or CSV) instead of a set");
  settings.add("data.test", &data.test, "own test file");
  settings.add("data.validation", &data.validation, "share of TRAIN held out by the honest protocol", base::share());
  settings.add("data.test_share", &data.test_share, "share held out as TEST when only data.train is given",
               base::share());
  tasks::add_settings(settings, static_cast<EncoderConfig&>(model));
  settings.add("model.kernel", &model.kernel, "steps that a token sees, odd; 1 = published", base::count_from(1));
  settings.add("model.pooling", base::choice(model.pooling, kPoolingNames),
               "flatten: published; mean: over the real tokens");
  settings.add("model.time", base::choice(model.time, kTimeNames), "bochner: also encodes when each step was taken");
  tasks::add_settings(settings, static_cast<KsvdOptions&>(loss));
  settings.add("loss.label_smoothing", &loss.label_smoothing, "of the cross entropy", base::share());
  tasks::add_settings(settings, loss.class_weights);
  settings.add("augment.noise", &augment.noise, "added to the training series, in deviations", base::at_least(0));
  settings.add("augment.scale", &augment.scale, "deviation of the factor of a channel", base::at_least(0));
  settings.add("augment.warp", &augment.warp, "largest change of tempo inside a series", base::share());
}

void TimeSeriesConfig::check_own() const {
  tasks::check(static_cast<const EncoderConfig&>(model));
  if (model.kernel % 2 == 0) base::fail("model.kernel", "expected an odd number, got ", model.kernel);
  if (data.validation == 0 && run.protocol == Protocol::honest) {
    throw Error("data.validation: expected more than 0 with the honest protocol, which holds a part out, got 0");
  }
}

models::SequenceClassifierOptions model_options(const TimeSeriesConfig& config, int64_t channels, int64_t outputs,
                                                int64_t tokens) {
  const SeriesModelOptions& model = config.model;
  return {.channels = channels,
          .outputs = outputs,
          .tokens = tokens,
          .kernel = model.kernel,
          .dropout = model.dropout,
          .pooling = model.pooling,
          .padding = model.padding,
          .time = model.time,
          .layers = layer_options(model, tokens)};
}

}  // namespace primal::tasks
