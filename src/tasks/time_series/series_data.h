// The parts of a data set as a protocol sees them. TEST is not read before it is asked for.
#pragma once

#include <filesystem>
#include <string>

#include "data/locate.h"
#include "data/time_series.h"
#include "tasks/time_series/config.h"
#include "tasks/time_series/series_facts.h"

namespace primal::tasks {

struct TrainingData {
  data::TimeSeriesSet train;       ///< standardised by itself
  data::TimeSeriesSet validation;  ///< by `train` as well; empty unless the protocol holds a part out
  SeriesFacts facts;
};

class SeriesData {
 public:
  /// Finds the files; a missing one is an Error. Reads nothing yet.
  SeriesData(const TimeSeriesConfig& config, const data::SearchPath& search);

  /// Reads TRAIN. `hold_out`: a stratified validation part, by the seed of the run.
  TrainingData load_training(bool hold_out) const;
  /// Reads TEST, scaled by the facts of the training part.
  data::TimeSeriesSet load_test(const SeriesFacts& facts) const;

  const std::string& name() const { return name_; }

 private:
  // TRAIN without (first) or only (second) the part that serves as TEST when there is no file for it.
  data::TimeSeriesSet train_file() const;
  data::TimeSeriesSet test_share() const;

  std::string name_;
  std::filesystem::path train_, test_;  ///< test_ is empty if a share of TRAIN serves
  double validation_, test_share_;
  uint64_t seed_;
};

/// A labelled file, scaled by the facts of a training part. Throws Error if channels or classes are not those.
data::TimeSeriesSet load_labelled(const std::filesystem::path& file, const SeriesFacts& facts);

}  // namespace primal::tasks
