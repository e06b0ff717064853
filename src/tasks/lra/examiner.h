// Collects the answers of a model to the examples of a token set, and what a report shows of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/tokens/token_set.h"
#include "models/token_classifier.h"
#include "run/evaluation.h"
#include "tasks/lra/sources.h"
#include "train/meters.h"

namespace primal::tasks {

class LraExaminer {
 public:
  /// All must outlive it. in_detail: also groups of examples and some cases, for a report.
  LraExaminer(const data::TokenSet& set, const LraSource& source, const std::vector<std::string>& classes,
              bool in_detail);
  void add(std::span<const int64_t> examples, const models::Classification& answer);
  run::Evaluation result() const;

 private:
  const data::TokenSet& set_;
  const LraSource& source_;
  bool in_detail_;
  train::ClassificationMeter meter_;
  std::vector<int64_t> predicted_;  // of each example; -1: not asked
  std::vector<float> share_;        // that the model gives the class it predicts
};

}  // namespace primal::tasks
