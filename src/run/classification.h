// Evaluations of classifiers: the confusion matrix and what follows from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/evaluation.h"

namespace primal::run {

using Confusion = std::vector<std::vector<int64_t>>;  ///< [true class][predicted class]: number of examples

/// Share of the diagonal.
double accuracy_of(const Confusion& confusion);
/// Mean over the classes that occur, as truth or prediction, of 2 PR / (P + R).
double macro_f1_of(const Confusion& confusion);

struct ClassScores {
  int64_t cases = 0;                         ///< that belong to the class
  double precision = 0, recall = 0, f1 = 0;  ///< 0 where the class was never predicted or has no case
};
std::vector<ClassScores> class_scores(const Confusion& confusion);

/// Details of an evaluation, under "classes" and "confusion".
struct ClassDetails {
  std::vector<std::string> classes;
  Confusion confusion;
};
void put(Evaluation& evaluation, const ClassDetails& details);
/// Nothing if the evaluation is not of named classes. Throws Error, which `where` begins, if they do not fit together.
std::optional<ClassDetails> class_details(const Evaluation& evaluation, const std::string& where = "evaluation");

}  // namespace primal::run
