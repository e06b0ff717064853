#include "environments/rollout.h"

#include <nlohmann/json.hpp>

#include "base/in_parallel.h"
#include "base/statistics.h"
#include "environments/rounded.h"

namespace primal::environments {

namespace {

template <typename Act>
Rollout play(const std::shared_ptr<const Simulator>& simulator, base::Random random, const Act& act) {
  Environment environment(simulator);
  environment.reset(base::Random(random.next()));
  const RobotInfo& robot = environment.robot();
  Rollout rollout;
  rollout.seen = Moments(robot.states);
  std::vector<double> action(static_cast<size_t>(robot.actions));
  const auto append_to = [](std::vector<float>& numbers, std::span<const double> values) {
    for (const double value : values) numbers.push_back(static_cast<float>(value));
  };
  for (bool is_over = false; !is_over;) {
    append_to(rollout.states, environment.observation());
    rollout.seen.add(environment.observation());
    act(environment.observation(), random, std::span<double>(action));
    const StepResult result = environment.step(action);
    append_to(rollout.actions, action);
    append_to(rollout.next_states, environment.observation());
    rollout.rewards.push_back(static_cast<float>(result.reward));
    rollout.total += result.reward;
    rollout.terminated = result.terminated;
    is_over = result.ended();
  }
  return rollout;
}

}  // namespace

Player policy_player(std::shared_ptr<const Simulator> simulator) {
  return [simulator = std::move(simulator)](const LinearPolicy& policy, base::Random random) {
    return play(simulator, random,
                [&](std::span<const double> observation, base::Random& numbers, std::span<double> action) {
                  policy.act(observation, numbers, action);
                });
  };
}

Player random_player(std::shared_ptr<const Simulator> simulator) {
  return [simulator = std::move(simulator)](const LinearPolicy&, base::Random random) {
    return play(simulator, random, [](std::span<const double>, base::Random& numbers, std::span<double> action) {
      for (double& value : action) value = 2 * numbers.uniform() - 1;
    });
  };
}

base::Random drawn(uint64_t seed, Draw draw, int64_t number) {
  return base::Random::numbered(seed, static_cast<uint64_t>(draw), static_cast<uint64_t>(number));
}

std::vector<Rollout> play_episodes(const Player& player, const LinearPolicy& policy, uint64_t seed, Draw draw,
                                   int64_t first, int64_t count, int64_t threads) {
  std::vector<Rollout> rollouts(static_cast<size_t>(count));
  base::in_parallel(count, threads, [&](int64_t i) {
    rollouts[static_cast<size_t>(i)] = player(policy, drawn(seed, draw, first + i));
  });
  return rollouts;
}

Returns returns_of(std::span<const Rollout> rollouts) {
  std::vector<double> totals, lengths;
  for (const Rollout& rollout : rollouts) {
    totals.push_back(rollout.total);
    lengths.push_back(static_cast<double>(rollout.steps()));
  }
  return {.mean = base::mean(totals),
          .deviation = totals.size() > 1 ? base::deviation(totals) : 0,
          .steps = base::mean(lengths),
          .episodes = std::ssize(rollouts)};
}

Returns measured(const Player& player, const LinearPolicy& policy, uint64_t seed, Draw draw, int64_t episodes,
                 int64_t threads) {
  return returns_of(play_episodes(player, policy, seed, draw, 0, episodes, threads));
}

nlohmann::json to_json(const Returns& returns) {
  constexpr int kDigits = 7;
  return {{"mean", rounded_to(kDigits, returns.mean)},
          {"deviation", rounded_to(kDigits, returns.deviation)},
          {"steps", rounded_to(kDigits, returns.steps)},
          {"episodes", returns.episodes}};
}

Returns returns_of(const base::Fields& fields) {
  return {.mean = fields.number("mean"),
          .deviation = fields.number("deviation"),
          .steps = fields.number("steps"),
          .episodes = fields.whole("episodes")};
}

}  // namespace primal::environments
