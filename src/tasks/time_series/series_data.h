// The parts of a data set as a protocol sees them. A run reads its files once, before its first step.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/series/locate.h"
#include "data/series/time_series.h"
#include "tasks/time_series/config.h"
#include "tasks/time_series/series_facts.h"

namespace primal::tasks {

struct TrainingData {
  data::TimeSeriesSet train;                ///< standardised by itself
  data::TimeSeriesSet validation;           ///< by `train` as well; empty unless the protocol holds a part out
  std::optional<data::TimeSeriesSet> test;  ///< by `train` too; absent if the run has none or will not evaluate it
  SeriesFacts facts;
  std::vector<std::string> notes;  ///< what is odd about the channels of `train`
};

class SeriesData {
 public:
  /// Finds the files; a missing one is an Error. Reads nothing yet.
  SeriesData(const TimeSeriesConfig& config, const data::SearchPath& search);

  /// Reads TRAIN and TEST and checks that they fit together. `hold_out`: a stratified validation part, by the seed of
  /// the run. A second call, for the refit, reads nothing. Without `with_test` a file of TEST is left alone.
  TrainingData load_training(bool hold_out, bool with_test = true);
  /// Whether there is a TEST: a file, or a share of TRAIN that is not 0.
  bool has_test() const { return !test_.empty() || test_share_ > 0; }
  /// Reads TEST of a run that has begun, scaled by the facts of its training part. A share of TRAIN: the very series
  /// that the run held out, also if the file has got others since. Throws Error if they are no longer there.
  data::TimeSeriesSet load_test(const SeriesFacts& facts);
  /// What load_test() has noticed.
  const std::vector<std::string>& notes() const { return notes_; }

  const std::string& name() const { return name_; }

 private:
  // As the files have them, without missing values. TEST may be a part of TRAIN, which is without it then.
  struct Sets {
    data::TimeSeriesSet train;
    std::optional<data::TimeSeriesSet> test;
    std::string fingerprint, test_fingerprint;
    std::vector<std::string> test_series;
  };

  Sets read(bool with_test) const;
  // The part that serves as TEST when there is no file for it.
  data::Split test_split(const data::TimeSeriesSet& whole) const;
  data::TimeSeriesSet held_out_then(const data::TimeSeriesSet& whole, const SeriesFacts& facts);

  std::string name_;
  std::filesystem::path train_, test_;  ///< test_ is empty if a share of TRAIN serves
  bool times_;                          ///< the model looks at them
  bool wants_test_;                     ///< the run evaluates it
  bool refits_;                         ///< so TRAIN is used twice
  bool keeps_length_;                   ///< the first weights are of a run that was refitted on all of TRAIN
  double validation_, test_share_;
  uint64_t seed_;
  std::optional<Sets> sets_;  ///< what was read, while it will be used again
  std::vector<std::string> notes_;
};

/// A file with or without answers, scaled by the facts of a training part. Throws Error as load_labelled() does.
data::TimeSeriesSet load_unlabelled(const std::filesystem::path& file, const SeriesFacts& facts, bool times);

/// A labelled file, scaled by the facts of a training part. Throws Error if channels, classes or, for a model that
/// looks at them (`times`), the presence of times are not those.
data::TimeSeriesSet load_labelled(const std::filesystem::path& file, const SeriesFacts& facts, bool times);

}  // namespace primal::tasks
