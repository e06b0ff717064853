// What a run writes down on its way: metrics.jsonl and TensorBoard's events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "run/event_file.h"
#include "run/metrics.h"
#include "run/run_directory.h"
#include "train/trainer_state.h"

namespace primal::train {

class Recorder {
 public:
  /// step: where the run stands; what TensorBoard has of later steps is void.
  Recorder(run::RunDirectory& run, Metric metric, int64_t step);

  void training(const RecordSums& sums, int64_t step, double epoch, double learning_rate);
  void evaluation(const Evaluation& evaluation, const std::string& split, int64_t step, double epoch, double seconds);
  void flush() { events_.flush(); }

 private:
  void write(const nlohmann::json& line);

  run::RunDirectory& run_;
  Metric metric_;
  run::EventFile events_;
};

}  // namespace primal::train
