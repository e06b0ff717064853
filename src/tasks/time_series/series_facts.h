// What a trained model has to know of its training data to understand other series: RUN/data.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/series/prepare.h"
#include "data/series/time_series.h"

namespace primal::tasks {

struct SeriesFacts {
  std::string name;
  int64_t channels = 0;
  std::vector<std::string> channel_names;     ///< if the training file had them
  int64_t tokens = 0;                         ///< longest training series; longer ones are cut
  std::vector<std::string> classes;           ///< in the order of the model's outputs; empty for a regression
  std::optional<data::TargetScaling> target;  ///< of a regression, from the training part
  data::Scaling scaling;                      ///< of the training part
  data::TimeScaling time_scaling;             ///< of the training part
  std::optional<bool> has_times;              ///< whether the training file said when each step was taken, if known
  std::string fingerprint;                    ///< of the training file; empty if it was not written down
  std::string test_fingerprint;               ///< of TEST; empty if the run has none or did not read it
  std::vector<std::string> test_series;       ///< ids of those of the training file that are TEST, if it has no file

  /// Of the model: one per class, or the target.
  int64_t outputs() const { return target ? 1 : static_cast<int64_t>(classes.size()); }
};

nlohmann::json to_json(const SeriesFacts& facts);
/// Reads data.json. Throws Error with the path.
SeriesFacts read_series_facts(const std::filesystem::path& path);

/// From the training part, whose missing values have been interpolated.
SeriesFacts facts_of(const data::TimeSeriesSet& train);

/// Changes with any value, time, label, class name or target of the set. `precise`: channels whose remainders count.
std::string fingerprint_of(const data::TimeSeriesSet& set, const std::vector<int64_t>& precise);
/// Of these series alone, wherever they stand: changes with any name, value, time, label or target of them, but not
/// with the classes of others in the file.
std::string fingerprint_of_cases(const data::TimeSeriesSet& set, const std::vector<int64_t>& precise);

/// Scales values and times as the training part was. Missing values must have been interpolated. Throws Error, which
/// `file` begins, for a value or target so far from those of the training part that the model could not give a number
/// for it.
void apply(const SeriesFacts& facts, data::TimeSeriesSet& set, const std::string& file);

/// Of a model that looks at times: throws Error, which `file` begins, if the training file had them and the file has
/// not, or the other way round.
void check_times(const SeriesFacts& facts, bool has_times, const std::string& file);

/// Checks the number of channels and brings named ones into the order of `facts`; either file may be without names.
/// `file` begins the message of an Error.
void align_channels(const SeriesFacts& facts, data::TimeSeriesSet& set, const std::string& file);
/// The same, and gives the labels the order of `facts`; for a regression it checks that there are targets.
void align(const SeriesFacts& facts, data::TimeSeriesSet& set, const std::string& file);

}  // namespace primal::tasks
