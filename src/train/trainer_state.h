// Where a run stands, all of it but the tensors: what state.json of a checkpoint holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/problem.h"
#include "train/trainer.h"

namespace primal::train {

/// Sums over the batches of the running epoch, for its line in metrics.jsonl.
struct EpochSums {
  double loss = 0, task = 0, ksvd = 0;  ///< times the number of examples
  std::vector<double> objective;
  double gradient_norm = 0;  ///< sum over the steps
  double score = 0;          ///< sum over the examples
  int64_t examples = 0, tokens = 0, steps = 0;
  double seconds = 0;

  void add(const BatchLoss& batch);
};

struct TrainerState {
  int64_t epoch = 0;  ///< finished epochs
  int64_t batch = 0;  ///< finished batches of the next one
  int64_t step = 0;   ///< steps of the optimizer
  EpochSums sums;     ///< of those batches
  BestEpoch best;
  double seconds = 0;  ///< of training steps so far
  int64_t tokens = 0;
  int64_t metric_bytes = 0;  ///< length of metrics.jsonl
};

std::string to_text(const TrainerState& state);
/// `file` begins the message of an Error.
TrainerState trainer_state(const std::string& text, const std::string& file);

}  // namespace primal::train
