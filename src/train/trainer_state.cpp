#include "train/trainer_state.h"

#include <nlohmann/json.hpp>

#include "primal/error.h"
#include "train/run_directory.h"

namespace primal::train {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EpochSums, loss, task, ksvd, objective, gradient_norm, score, examples, tokens,
                                   steps, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BestEpoch, epoch, evaluation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainerState, epoch, batch, step, sums, best, seconds, tokens, metric_bytes)

void EpochSums::add(const BatchLoss& batch_loss) {
  const double count = static_cast<double>(batch_loss.examples);
  task += batch_loss.task * count;
  ksvd += batch_loss.ksvd * count;
  loss += (batch_loss.task + batch_loss.ksvd) * count;
  objective.resize(batch_loss.objective.size());
  for (size_t i = 0; i < objective.size(); ++i) objective[i] += batch_loss.objective[i] * count;
  examples += batch_loss.examples;
  score += batch_loss.score;
  tokens += batch_loss.tokens;
}

std::string to_text(const TrainerState& state) { return nlohmann::json(state).dump(2); }

TrainerState trainer_state(const std::string& text, const std::string& file) {
  try {
    nlohmann::json json = nlohmann::json::parse(text);
    // Of runs that began before there were other scores than accuracies.
    if (auto& sums = json.at("sums"); sums.contains("correct")) sums["score"] = sums["correct"];
    return json.get<TrainerState>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(file + ": " + reason_of(error));
  }
}

}  // namespace primal::train
