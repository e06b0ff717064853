#include "environments/ars.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/in_parallel.h"

namespace primal::environments {

ArsOptions ars_options(Robot robot) {
  switch (robot) {
    case Robot::half_cheetah:
      return {.directions = 8, .best = 4, .step_size = 0.02, .distance = 0.03, .action_noise = 0.05};
    case Robot::hopper:
      return {
          .directions = 8, .best = 4, .step_size = 0.01, .distance = 0.025, .action_noise = 0.1, .survival_bonus = 1};
    case Robot::walker2d:
      break;
  }
  return {
      .directions = 16, .best = 8, .step_size = 0.03, .distance = 0.05, .action_noise = 0.1, .adaptive_bonus = true};
}

nlohmann::json to_json(const ArsOptions& options) {
  return {{"directions", options.directions},        {"best", options.best},
          {"step_size", options.step_size},          {"distance", options.distance},
          {"action_noise", options.action_noise},    {"survival_bonus", options.survival_bonus},
          {"adaptive_bonus", options.adaptive_bonus}};
}

void ars_step(std::vector<double>& weights, std::vector<Trial> trials, int64_t best, double step_size) {
  const auto larger = [](const Trial& trial) { return std::max(trial.forward, trial.backward); };
  std::ranges::stable_sort(trials, std::greater{}, larger);
  trials.resize(static_cast<size_t>(std::min<int64_t>(best, std::ssize(trials))));
  const auto kept = static_cast<double>(trials.size());
  double mean = 0, variance = 0;
  for (const Trial& trial : trials) mean += (trial.forward + trial.backward) / (2 * kept);
  for (const Trial& trial : trials) {
    variance += (std::pow(trial.forward - mean, 2) + std::pow(trial.backward - mean, 2)) / (2 * kept);
  }
  const double factor = step_size / (kept * std::sqrt(variance));
  if (!std::isfinite(factor)) return;
  for (const Trial& trial : trials) {
    const double along = factor * (trial.forward - trial.backward);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] += along * trial.direction[i];
  }
}

nlohmann::json to_json(const ArsState& state) {
  return {{"iteration", state.iteration},     {"steps", state.steps},     {"episodes", state.episodes},
          {"last_length", state.last_length}, {"weights", state.weights}, {"seen", to_json(state.seen)}};
}

ArsState ars_state_of(const base::Fields& fields, int64_t states, int64_t actions) {
  ArsState state{.iteration = fields.whole("iteration"),
                 .steps = fields.whole("steps"),
                 .episodes = fields.whole("episodes"),
                 .last_length = fields.number("last_length"),
                 .weights = fields.numbers_if_any("weights")};
  if (std::ssize(state.weights) != states * actions) {
    fields.fail("weights", "expected " + std::to_string(states * actions) + " numbers, got " +
                               std::to_string(state.weights.size()));
  }
  state.seen = moments_of(fields.object("seen"), states);
  return state;
}

Ars::Ars(const ArsOptions& options, uint64_t seed, int64_t states, int64_t actions, Player player)
    : options_(options), seed_(seed), states_(states), actions_(actions), player_(std::move(player)) {
  state_.weights.assign(static_cast<size_t>(states * actions), 0);
  state_.seen = Moments(states);
}

double Ars::bonus_taken_off() const {
  constexpr auto kLimit = static_cast<double>(kTimeLimit);
  return options_.adaptive_bonus ? state_.last_length / kLimit : options_.survival_bonus;
}

LinearPolicy Ars::policy() const {
  return {.states = states_,
          .actions = actions_,
          .weights = state_.weights,
          .mean = state_.seen.mean,
          .deviation = state_.seen.deviation(),
          .noise = options_.action_noise};
}

std::vector<Rollout> Ars::iterate(int64_t threads) {
  const LinearPolicy policy = this->policy();
  std::vector<Trial> trials(static_cast<size_t>(options_.directions));
  base::Random random = drawn(seed_, Draw::directions, state_.iteration);
  for (Trial& trial : trials) {
    for (size_t i = 0; i < policy.weights.size(); ++i) trial.direction.push_back(random.normal());
  }
  const int64_t count = 2 * options_.directions;
  std::vector<Rollout> rollouts(static_cast<size_t>(count));
  base::in_parallel(count, threads, [&](int64_t i) {
    LinearPolicy tried = policy;
    const double distance = i % 2 == 0 ? options_.distance : -options_.distance;
    const Trial& trial = trials[static_cast<size_t>(i / 2)];
    for (size_t k = 0; k < tried.weights.size(); ++k) tried.weights[k] += distance * trial.direction[k];
    rollouts[static_cast<size_t>(i)] = player_(tried, drawn(seed_, Draw::rollouts, state_.iteration * count + i));
  });

  const double bonus = bonus_taken_off();
  int64_t steps = 0;
  for (size_t i = 0; i < rollouts.size(); ++i) {
    const Rollout& rollout = rollouts[i];
    Trial& trial = trials[i / 2];
    (i % 2 == 0 ? trial.forward : trial.backward) = rollout.total - bonus * static_cast<double>(rollout.steps());
    state_.seen.add(rollout.seen);
    steps += rollout.steps();
  }
  ars_step(state_.weights, std::move(trials), options_.best, options_.step_size);
  ++state_.iteration;
  state_.steps += steps;
  state_.episodes += count;
  state_.last_length = static_cast<double>(steps) / static_cast<double>(count);
  return rollouts;
}

double Ars::evaluated(int64_t episodes, int64_t threads) const {
  const int64_t first = state_.iteration * episodes;
  return returns_of(play_episodes(player_, policy(), seed_, Draw::evaluation, first, episodes, threads)).mean;
}

}  // namespace primal::environments
