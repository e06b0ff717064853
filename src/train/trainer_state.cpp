#include "train/trainer_state.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_file.h"
#include "primal/error.h"

namespace primal::train {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RecordSums, loss, task, ksvd, objective, gradient_norm, score, weight, tokens, steps,
                                   seconds)

namespace {

// Of older runs: a weight was a number of examples, a score a number of right ones.
nlohmann::json sums_in(nlohmann::json sums) {
  if (!sums.contains("weight")) sums["weight"] = sums.at("examples");
  if (sums.contains("correct")) sums["score"] = sums["correct"];
  if (sums.at("score").is_null()) sums["score"] = std::nan("");
  return sums;
}

BestWeights best_in(const nlohmann::json& best, const Metric& metric, const Order& order, const std::string& file) {
  BestWeights weights;
  if (best.contains("step")) {
    best.at("step").get_to(weights.step);
  } else if (const auto epoch = best.at("epoch").get<int64_t>(); epoch >= 0) {  // of older runs
    weights.step = order.steps_of(base::epochs(epoch));
  }
  if (weights.step >= 0) weights.evaluation = evaluation_from(best.at("evaluation"), metric, file + ": evaluation");
  return weights;
}

}  // namespace

void RecordSums::add(const BatchLoss& batch, int64_t batch_weight) {
  const double count = static_cast<double>(batch_weight);
  task += batch.task * count;
  ksvd += batch.ksvd * count;
  loss += (batch.task + batch.ksvd) * count;
  objective.resize(batch.objective.size());
  for (size_t i = 0; i < objective.size(); ++i) objective[i] += batch.objective[i] * count;
  weight += batch_weight;
  score += batch.score.value_or(std::nan(""));
  tokens += batch.tokens;
}

std::string to_text(const TrainerState& state, const Metric& metric) {
  const nlohmann::json json = {
      {"step", state.step},
      {"sums", state.sums},
      {"best", {{"step", state.best.step}, {"evaluation", to_json(state.best.evaluation, metric)}}},
      {"seconds", state.seconds},
      {"tokens", state.tokens},
      {"metric_bytes", state.metric_bytes}};
  return json.dump(2);
}

TrainerState trainer_state(const std::string& text, const Metric& metric, const Order& order, const std::string& file) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    TrainerState state;
    json.at("step").get_to(state.step);
    state.sums = sums_in(json.at("sums")).get<RecordSums>();
    state.best = best_in(json.at("best"), metric, order, file);
    json.at("seconds").get_to(state.seconds);
    json.at("tokens").get_to(state.tokens);
    json.at("metric_bytes").get_to(state.metric_bytes);
    return state;
  } catch (const nlohmann::json::exception& error) {
    throw Error(file + ": " + base::reason_of(error));
  }
}

}  // namespace primal::train
