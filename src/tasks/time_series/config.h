// The configuration of a time-series run: every option with its default.
#pragma once

#include <cstdint>
#include <string>

#include "models/sequence_classifier.h"
#include "tasks/class_weights.h"
#include "tasks/config.h"
#include "tasks/encoder_config.h"
#include "tasks/ksvd.h"

namespace primal::tasks {

struct SeriesDataOptions {
  std::string set = "JapaneseVowels";  ///< looked for on the search path
  std::string train, test;             ///< own files, .ts or CSV, instead of a set
  double validation = 0.2;             ///< share of TRAIN that the honest protocol holds out
  double test_share = 0.2;             ///< share of TRAIN that becomes TEST when only data.train is given
};

struct SeriesModelOptions : EncoderConfig {
  int64_t kernel = 1;  ///< steps that a token sees
  models::Pooling pooling = models::Pooling::flatten;
  models::TimeInput time = models::TimeInput::order;
};

struct SeriesLossOptions : KsvdOptions {
  double label_smoothing = 0;
  ClassWeightOptions class_weights{};
};

struct AugmentOptions {
  double noise = 0;  ///< deviation of what is added to each value, in deviations of the channel
  double scale = 0;  ///< deviation of the factor of each channel of a series
  double warp = 0;   ///< a stretch of a series is played faster or slower by up to this share
};

class TimeSeriesConfig : public Config {
 public:
  std::string model_name() const override { return tasks::model_name(model); }
  std::vector<OwnFile> own_files() override {
    return {{"data.train", train::Part::train, &data.train}, {"data.test", train::Part::test, &data.test}};
  }
  /// Before training, after epoch 1, every second epoch and the last.
  train::EvaluationTimes published_evaluations() const override {
    return {.every = base::epochs(2), .also = {base::steps(0), base::epochs(1)}};
  }

  SeriesDataOptions data;
  SeriesModelOptions model;
  SeriesLossOptions loss;
  AugmentOptions augment;

 protected:
  void add_own_settings(base::Settings& settings) override;
  void check_own() const override;
  std::vector<std::string> too_large() const override { return tasks::too_large(loss); }
};

/// Whether when a step was taken makes a difference.
inline bool looks_at_times(const TimeSeriesConfig& config) { return config.model.time == models::TimeInput::bochner; }

/// The model for series of these sizes.
models::SequenceClassifierOptions model_options(const TimeSeriesConfig& config, int64_t channels, int64_t outputs,
                                                int64_t tokens);

}  // namespace primal::tasks
