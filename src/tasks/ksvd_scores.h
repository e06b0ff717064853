// `primal analyze --ksvd --intervene`: what becomes of a task's score when other scores take the place of a layer's
// own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/analysis_page.h"
#include "run/metric.h"

namespace primal::tasks {

class Task;
struct DataChoice;

struct TaskScore {
  double score = 0;
  std::optional<double> loss{};  ///< where the task tells one: it moves before the score does
};

struct ChangedLayer {
  std::string name;      ///< "layer 1"
  TaskScore best_pairs;  ///< with the best s pairs of the kernel SVD of each sample, or of training examples
  TaskScore random;      ///< with random directions
  TaskScore none;        ///< with zeros
};

struct ChangedScores {
  run::Metric metric;
  std::string what;  ///< the data
  TaskScore own;     ///< the model as it is
  std::vector<ChangedLayer> layers;
  std::string shown{};  ///< the data whose pairs take the place of the scores of causal layers; empty: there are none
};

/// Each primal layer by itself, on the whole part or file of the choice. In a causal layer every sample gets the same
/// directions, those of training examples. Throws Error where the task does not run its layers over whole sequences.
ChangedScores change_scores(Task& task, const DataChoice& choice);

std::string to_text(const ChangedScores& scores);
nlohmann::json to_json(const ChangedScores& scores);
/// For the page.
report::ChangedTable changed_table(const ChangedScores& scores);

}  // namespace primal::tasks
