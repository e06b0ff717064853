// Collects the answers of a model to the examples of a token set, and what a report shows of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/tokens/token_set.h"
#include "models/token_classifier.h"
#include "run/evaluation.h"
#include "tasks/lra/examined_set.h"
#include "tasks/lra/sources.h"
#include "train/meters.h"

namespace primal::tasks {

class LraExaminer {
 public:
  /// All must outlive it. in_detail: also what run::CaseDetails has, for a report.
  LraExaminer(const data::TokenSet& set, const LraSource& source, const std::vector<std::string>& classes,
              bool in_detail);
  void add(std::span<const int64_t> examples, const models::Classification& answer);
  run::Evaluation result() const;

 private:
  const LraSource& source_;
  bool in_detail_;
  ExaminedSet examined_;
  train::ClassificationMeter meter_;
};

}  // namespace primal::tasks
