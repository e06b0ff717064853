#include "environments/linear_policy.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "environments/rounded.h"

namespace primal::environments {

namespace {

std::vector<double> channel_numbers(const base::Fields& fields, const char* key, int64_t states) {
  std::vector<double> numbers = fields.numbers_if_any(key);
  if (std::ssize(numbers) != states) {
    fields.fail(key, "expected " + std::to_string(states) + " numbers, got " + std::to_string(numbers.size()));
  }
  return numbers;
}

void check_all_finite(const base::Fields& fields, const char* key, const std::vector<double>& numbers) {
  if (!std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); })) {
    fields.fail(key, "expected finite numbers");
  }
}

}  // namespace

LinearPolicy LinearPolicy::at_rest(int64_t states, int64_t actions, double noise) {
  return {.states = states,
          .actions = actions,
          .weights = std::vector<double>(static_cast<size_t>(states * actions)),
          .mean = std::vector<double>(static_cast<size_t>(states)),
          .deviation = std::vector<double>(static_cast<size_t>(states), 1),
          .noise = noise};
}

void LinearPolicy::act(std::span<const double> observation, base::Random& random, std::span<double> action) const {
  assert(std::ssize(observation) == states && std::ssize(action) == actions);
  std::ranges::fill(action, 0);
  for (size_t state = 0; state < observation.size(); ++state) {
    if (deviation[state] < kLeastDeviation) continue;
    const double value = (observation[state] - mean[state]) / deviation[state];
    for (size_t i = 0; i < action.size(); ++i) action[i] += weights[i * observation.size() + state] * value;
  }
  for (double& value : action) {
    if (noise > 0) value += noise * random.normal();
    value = std::clamp(value, -1.0, 1.0);
  }
}

LinearPolicy LinearPolicy::without_noise() const {
  LinearPolicy result = *this;
  result.noise = 0;
  return result;
}

LinearPolicy LinearPolicy::rounded() const {
  LinearPolicy result = *this;
  for (auto* numbers : {&result.weights, &result.mean, &result.deviation}) {
    for (double& number : *numbers) number = rounded_to(9, number);
  }
  return result;
}

nlohmann::json to_json(const LinearPolicy& policy) {
  nlohmann::json rows = nlohmann::json::array();
  for (int64_t i = 0; i < policy.actions; ++i) {
    const auto begin = policy.weights.begin() + i * policy.states;
    rows.push_back(std::vector<double>(begin, begin + policy.states));
  }
  return {{"weights", rows}, {"mean", policy.mean}, {"deviation", policy.deviation}, {"noise", policy.noise}};
}

LinearPolicy policy_of(const base::Fields& fields, int64_t states, int64_t actions) {
  LinearPolicy policy{.states = states, .actions = actions};
  const std::vector<std::vector<double>> rows = fields.number_rows("weights");
  for (const std::vector<double>& row : rows) {
    if (std::ssize(row) == states) policy.weights.insert(policy.weights.end(), row.begin(), row.end());
  }
  if (std::ssize(rows) != actions || std::ssize(policy.weights) != states * actions) {
    fields.fail("weights", "expected " + std::to_string(actions) + " rows of " + std::to_string(states) + " numbers");
  }
  policy.mean = channel_numbers(fields, "mean", states);
  policy.deviation = channel_numbers(fields, "deviation", states);
  policy.noise = fields.number("noise");
  check_all_finite(fields, "weights", policy.weights);
  check_all_finite(fields, "mean", policy.mean);
  check_all_finite(fields, "deviation", policy.deviation);
  if (!(policy.noise >= 0 && std::isfinite(policy.noise))) fields.fail("noise", "expected a number from 0");
  return policy;
}

}  // namespace primal::environments
