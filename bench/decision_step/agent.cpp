#include "decision_step/agent.h"

#include <algorithm>

#include "base/random.h"
#include "environments/robots.h"

namespace primal::bench {

namespace {

constexpr double kEta = 0.05;
constexpr int64_t kEpisodes = 20;

void draw(std::vector<float>& numbers, int64_t count, base::Random& random) {
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(2 * random.uniform() - 1));
}

}  // namespace

tasks::OfflineRlConfig agent_config(const DecisionSizes& sizes) {
  tasks::OfflineRlConfig config;
  config.model.layers = sizes.layers;
  config.model.width = sizes.width;
  config.model.heads = sizes.heads;
  config.model.feed_forward = sizes.feed_forward;
  config.model.rank = {sizes.rank};
  config.model.steps = sizes.steps;
  config.model.dropout = sizes.dropout;
  config.model.attention_dropout = sizes.attention_dropout;
  config.model.norm_first = true;
  config.model.decision_init = models::DecisionInit::published;
  config.loss.eta = kEta;
  config.train.clip = 0.25;
  config.optimizer.weight_decay = 1e-4;
  return config;
}

std::unique_ptr<tasks::Policy> make_agent(const DecisionSizes& sizes) {
  return tasks::make_policy(agent_config(sizes), sizes.states, sizes.actions);
}

tasks::Episodes random_episodes(const DecisionSizes& sizes) {
  base::Random random(1);
  data::Trajectories all;
  all.state_size = sizes.states;
  all.action_size = sizes.actions;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < kEpisodes; ++i) {
    numbers.push_back(i);
    all.episodes.push_back({i * environments::kTimeLimit, (i + 1) * environments::kTimeLimit, false});
  }
  const int64_t rows = kEpisodes * environments::kTimeLimit;
  draw(all.states, rows * sizes.states, random);
  draw(all.actions, rows * sizes.actions, random);
  draw(all.rewards, rows, random);
  const auto states = static_cast<size_t>(sizes.states);
  const tasks::OfflineFacts facts{.name = "made up",
                                  .states = sizes.states,
                                  .actions = sizes.actions,
                                  .mean = std::vector<double>(states, 0),
                                  .deviation = std::vector<double>(states, 1)};
  return {all, numbers, facts, /*scale=*/10, /*delayed=*/false};
}

models::DecisionWindows random_windows(const tasks::Episodes& episodes, int64_t steps, int64_t count) {
  base::Random random(2);
  std::vector<tasks::Stretch> stretches;
  for (int64_t i = 1; i < count; ++i) {
    const auto row = static_cast<int64_t>(random.below(static_cast<uint64_t>(episodes.rows())));
    stretches.push_back(episodes.from(row, steps));
  }
  stretches.push_back(episodes.from(episodes.rows() - std::max<int64_t>(1, steps / 2), steps));
  return episodes.windows(stretches, steps);
}

}  // namespace primal::bench
