// Where a run stands, all of it but the tensors: what state.json of a checkpoint holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/order.h"
#include "train/problem.h"

namespace primal::train {

/// Sums over the batches since the last record, for the next one.
struct RecordSums {
  double loss = 0, task = 0, ksvd = 0;  ///< times the weight
  std::vector<double> objective;
  double gradient_norm = 0;  ///< sum over the steps
  double score = 0;          ///< sum over the weight; NaN if a batch had none
  int64_t weight = 0, tokens = 0, steps = 0;
  double seconds = 0;

  void add(const BatchLoss& batch, int64_t batch_weight);
};

/// The evaluated weights that are kept: the best so far, or the last ones with Keep::last.
struct BestWeights {
  int64_t step = -1;  ///< -1: there was no evaluation
  Evaluation evaluation{};
};

struct TrainerState {
  int64_t step = 0;  ///< steps of the optimizer that are done
  RecordSums sums;
  BestWeights best;
  double seconds = 0;  ///< of training steps so far
  int64_t tokens = 0;
  int64_t metric_bytes = 0;  ///< length of metrics.jsonl
};

std::string to_text(const TrainerState& state, const Metric& metric);
/// `file` begins the message of an Error. Checkpoints of older runs count the best weights in epochs: `order` knows
/// their steps.
TrainerState trainer_state(const std::string& text, const Metric& metric, const Order& order, const std::string& file);

}  // namespace primal::train
