// The configuration of a time-series classification run: every option with its default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/sequence_classifier.h"
#include "base/settings.h"
#include "train/trainer.h"

namespace primal::tasks {

enum class Protocol {
  honest,  ///< the epoch is chosen on a validation part of TRAIN; TEST is read once, at the end
  paper,   ///< as published: the best TEST accuracy over all evaluated epochs
};

struct TimeSeriesConfig {
  struct {
    std::string set = "JapaneseVowels";  ///< looked for on the search path
    std::string train, test;             ///< own files, .ts or CSV, instead of a set
    double validation = 0.2;             ///< share of TRAIN that the honest protocol holds out
    double test_share = 0.2;             ///< share of TRAIN that becomes TEST when only data.train is given
  } data;
  struct {
    std::vector<std::string> layers = {"primal", "primal"};
    int64_t width = 512, heads = 8, feed_forward = 2048;
    int64_t rank = 30;
    int64_t rows = 0;  ///< 0 = rows_per_rank rank; never more than the longest training series
    int64_t rows_per_rank = 10;
    int64_t kernel = 1;  ///< steps that a token sees
    std::string feature_map = "cosine";
    double dropout = 0.1;
    bool norm_first = false;
    models::Pooling pooling = models::Pooling::flatten;
    Padding padding = Padding::respect;
    models::TimeInput time = models::TimeInput::order;
    Init init = Init::reference;
  } model;
  struct {
    double eta = 0;
    double label_smoothing = 0;
  } loss;
  struct {
    double noise = 0;  ///< deviation of what is added to each value, in deviations of the channel
    double scale = 0;  ///< deviation of the factor of each channel of a series
    double warp = 0;   ///< a stretch of a series is played faster or slower by up to this share
  } augment;
  train::TrainOptions train;
  train::OptimizerOptions optimizer;
  train::ScheduleOptions schedule;
  struct {
    Protocol protocol = Protocol::honest;
    bool refit = false;   ///< honest: train anew on all of TRAIN for as many epochs as the validation part chose
    bool test = true;     ///< honest: evaluate TEST at the end; a search for options must not
    int64_t threads = 0;  ///< 0 = one per core
    std::string preset;   ///< where the configuration began
  } run;
};

/// Whether when a step was taken makes a difference.
inline bool looks_at_times(const TimeSeriesConfig& config) { return config.model.time == models::TimeInput::bochner; }

/// Makes every option known by name.
void add_settings(base::Settings& settings, TimeSeriesConfig& config);

/// Checks what no single key can tell. Throws Error.
void check(const TimeSeriesConfig& config);

/// The model for series of these sizes.
models::SequenceClassifierOptions model_options(const TimeSeriesConfig& config, int64_t channels, int64_t classes,
                                                int64_t tokens);

/// "PrimalFormer", "Primal.+", "Transformer" or "mixed", by the layers.
std::string model_name(const TimeSeriesConfig& config);
const char* name_of(Protocol protocol);

}  // namespace primal::tasks
