// metrics.jsonl: what a run wrote down on its way, one JSON object per line.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "run/metric.h"

namespace primal::run {

/// A figure that was not finite, or not written.
inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// Of the steps since the record before: means over what the loss is a mean over.
struct TrainRecord {
  int64_t step = 0;  ///< the last of them
  double epoch = 0;  ///< passes over the training part so far
  double loss = kNoNumber, task_loss = kNoNumber, ksvd = kNoNumber, score = kNoNumber;
  std::vector<double> objective{};  ///< [primal layers], mean J
  double gradient_norm = kNoNumber, learning_rate = kNoNumber, seconds = kNoNumber, tokens_per_second = kNoNumber;
};

struct EvaluationRecord {
  std::string split{};  ///< "validation" or "test"
  int64_t step = 0;
  double epoch = 0;
  double loss = kNoNumber, score = kNoNumber;
  std::vector<double> objective{};
  double seconds = kNoNumber;
};

/// Steps rise within the training and within each split of the evaluations.
struct Metrics {
  Metric metric = accuracy_metric();  ///< of the scores
  std::vector<TrainRecord> training{};
  std::vector<EvaluationRecord> evaluations{};
  std::string failure{};  ///< why the run gave up; empty if it did not

  std::vector<EvaluationRecord> split(const std::string& name) const;
};

/// The first line of the file: what its scores are.
nlohmann::json metric_line(const Metric& metric);
nlohmann::json to_json(const TrainRecord& record, const Metric& metric);
nlohmann::json to_json(const EvaluationRecord& record, const Metric& metric);
nlohmann::json failure_line(const std::string& reason);

/// A last line that a crash has cut off (no line feed, no valid JSON) is left out, and so are lines of unknown kind,
/// for the sake of later versions. A run that went back to a checkpoint repeats steps: the later line holds. Throws
/// Error,
/// "<file>:<line>: ...".
Metrics parse_metrics(std::string_view text, const std::string& file);

/// 12.0 as 12, so that a whole number of epochs looks like one.
nlohmann::json whole_if_it_is(double value);

}  // namespace primal::run
