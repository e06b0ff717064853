// The parts of a data set as a protocol sees them. The honest one does not read TEST before it is asked for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "data/series/locate.h"
#include "data/series/time_series.h"
#include "tasks/time_series/config.h"
#include "tasks/time_series/series_facts.h"

namespace primal::tasks {

struct TrainingData {
  data::TimeSeriesSet train;                ///< standardised by itself
  data::TimeSeriesSet validation;           ///< by `train` as well; empty unless the protocol holds a part out
  std::optional<data::TimeSeriesSet> test;  ///< by `train` too; absent unless it has a file and the run chooses by it
  SeriesFacts facts;
};

class SeriesData {
 public:
  /// Finds the files; a missing one is an Error. Reads nothing yet.
  SeriesData(const TimeSeriesConfig& config, const data::SearchPath& search);

  /// Reads TRAIN. `hold_out`: a stratified validation part, by the seed of the run. With the paper protocol the
  /// file of TEST is read too.
  TrainingData load_training(bool hold_out) const;
  /// Whether there is a TEST: a file, or a share of TRAIN that is not 0.
  bool has_test() const { return !test_.empty() || test_share_ > 0; }
  /// Reads TEST, scaled by the facts of the training part.
  data::TimeSeriesSet load_test(const SeriesFacts& facts) const;

  const std::string& name() const { return name_; }

 private:
  // The part that serves as TEST when there is no file for it.
  data::Split test_split(const data::TimeSeriesSet& whole) const;
  void check_head_of_test(const data::TimeSeriesSet& train) const;

  std::string name_;
  std::filesystem::path train_, test_;  ///< test_ is empty if a share of TRAIN serves
  bool is_own_ = false;                 ///< data.train, not a set
  bool times_;                          ///< the model looks at them
  bool chooses_by_test_;                ///< paper protocol
  double validation_, test_share_;
  uint64_t seed_;
};

/// A file with or without answers, scaled by the facts of a training part. Throws Error as load_labelled() does.
data::TimeSeriesSet load_unlabelled(const std::filesystem::path& file, const SeriesFacts& facts, bool times);

/// A labelled file, scaled by the facts of a training part. Throws Error if channels, classes or, for a model that
/// looks at them (`times`), the presence of times are not those.
data::TimeSeriesSet load_labelled(const std::filesystem::path& file, const SeriesFacts& facts, bool times);

}  // namespace primal::tasks
