#include "tasks/offline_rl/rollouts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/format.h"
#include "base/statistics.h"
#include "environments/batch.h"
#include "tasks/offline_rl/animations.h"

namespace primal::tasks {

namespace {

constexpr int64_t kSideBySide = 256;  // episodes; more only cost memory

std::vector<PlayedEpisode> asked_for(const RolloutOrder& order, bool takes_targets) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<PlayedEpisode> episodes;
  for (const double target : takes_targets ? order.targets : std::vector{kNone}) {
    episodes.insert(episodes.end(), static_cast<size_t>(order.episodes), {.target = target});
  }
  return episodes;
}

/// Some episodes in their environments, with what is still wanted of each.
class Stage {
 public:
  Stage(std::span<PlayedEpisode> episodes, const OfflineFacts& facts, const OfflineRlConfig& config, bool keeps)
      : episodes_(episodes), facts_(facts), config_(config), keeps_(keeps), wanted_(at::zeros({std::ssize(episodes)})) {
    for (size_t i = 0; i < episodes.size(); ++i) {
      const double target = episodes[i].target;
      wanted_.data_ptr<float>()[i] = static_cast<float>(std::isnan(target) ? 0 : target / config.data.return_scale);
    }
    mean_ = at::tensor(facts.mean, at::kDouble);
    deviation_ = at::tensor(facts.deviation, at::kDouble);
  }

  const at::Tensor& wanted() const { return wanted_; }

  at::Tensor states(const environments::EnvironmentBatch& batch) const {
    const std::span<const double> seen = batch.observations();
    const at::Tensor raw = at::from_blob(const_cast<double*>(seen.data()), {batch.size(), facts_.states}, at::kDouble);
    return ((raw - mean_) / deviation_).to(at::kFloat);
  }

  at::Tensor live(const environments::EnvironmentBatch& batch) const {
    std::vector<int64_t> live;
    for (int64_t i = 0; i < batch.size(); ++i) {
      if (!batch.ended(i)) live.push_back(i);
    }
    return at::tensor(live, at::kLong);
  }

  void keep_positions(const environments::EnvironmentBatch& batch, const at::Tensor& live) {
    if (!keeps_) return;
    for (int64_t i = 0; i < live.numel(); ++i) {
      const int64_t index = live.data_ptr<int64_t>()[i];
      const std::span<const double> positions = batch[index].positions();
      std::vector<double>& kept = episodes_[static_cast<size_t>(index)].positions;
      kept.insert(kept.end(), positions.begin(), positions.end());
    }
  }

  void take(std::span<const environments::StepResult> results, const at::Tensor& live) {
    for (int64_t i = 0; i < live.numel(); ++i) {
      const int64_t index = live.data_ptr<int64_t>()[i];
      const environments::StepResult& result = results[static_cast<size_t>(index)];
      PlayedEpisode& episode = episodes_[static_cast<size_t>(index)];
      episode.earned += result.reward;
      ++episode.steps;
      episode.fell = result.terminated;
      if (config_.data.delayed) continue;  // nothing is earned before the end
      wanted_.data_ptr<float>()[index] -= static_cast<float>(result.reward / config_.data.return_scale);
    }
  }

 private:
  std::span<PlayedEpisode> episodes_;
  const OfflineFacts& facts_;
  const OfflineRlConfig& config_;
  bool keeps_;
  at::Tensor wanted_, mean_, deviation_;
};

// first: number of the first of these episodes, among all that were asked for
void play_some(std::span<PlayedEpisode> episodes, int64_t first, Policy& policy, const OfflineFacts& facts,
               const OfflineRlConfig& config, const RolloutOrder& order) {
  const int64_t count = std::ssize(episodes);
  environments::EnvironmentBatch batch(environments::simulator(*facts.robot, config.data.version), count,
                                       order.threads);
  for (int64_t i = 0; i < count; ++i) batch.reset_one(i, order.seed, order.first + (first + i) % order.episodes);
  const std::unique_ptr<Actor> actor = policy.actor(count, environments::kTimeLimit);
  Stage stage(episodes, facts, config, order.keep_positions);
  for (at::Tensor live = stage.live(batch); live.numel() > 0; live = stage.live(batch)) {
    stage.keep_positions(batch, live);
    const at::Tensor actions = actor->act(stage.states(batch), stage.wanted(), live).to(at::kDouble).contiguous();
    const auto results = batch.step({actions.data_ptr<double>(), static_cast<size_t>(actions.numel())});
    stage.take(results, live);
  }
  if (!order.keep_positions) return;
  for (int64_t i = 0; i < count; ++i) stage.keep_positions(batch, at::tensor({i}, at::kLong));
}

std::vector<run::TargetReturns> returns_by_target(const std::vector<PlayedEpisode>& episodes) {
  std::vector<run::TargetReturns> targets;
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (const PlayedEpisode& episode : episodes) {
    if (targets.empty() || !same(targets.back().target, episode.target)) targets.push_back({.target = episode.target});
    targets.back().returns.push_back(episode.earned);
    targets.back().steps.push_back(episode.steps);
  }
  return targets;
}

// What stands for each target in the names of its numbers, "_at_1714": whole numbers, unless two of them are one.
std::vector<std::string> endings_of(const std::vector<run::TargetReturns>& targets) {
  const auto endings = [&](const char* format) {
    std::vector<std::string> made;
    for (const run::TargetReturns& one : targets) {
      made.push_back(std::isnan(one.target) ? "" : "_at_" + base::printed(format, one.target));
    }
    return made;
  };
  std::vector<std::string> whole = endings("%.0f");
  return std::set(whole.begin(), whole.end()).size() == whole.size() ? whole : endings("%.10g");
}

}  // namespace

std::vector<PlayedEpisode> play(Policy& policy, const OfflineFacts& facts, const OfflineRlConfig& config,
                                const RolloutOrder& order) {
  const at::NoGradGuard no_grad;
  std::vector<PlayedEpisode> episodes = asked_for(order, policy.takes_targets());
  for (size_t first = 0; first < episodes.size(); first += kSideBySide) {
    const size_t count = std::min<size_t>(kSideBySide, episodes.size() - first);
    play_some(std::span(episodes).subspan(first, count), static_cast<int64_t>(first), policy, facts, config, order);
  }
  return episodes;
}

run::Evaluation evaluation_of(const std::vector<PlayedEpisode>& episodes, const Normalisation& normalisation,
                              ScoredTarget scored) {
  run::Evaluation evaluation;
  const std::vector<run::TargetReturns> targets = returns_by_target(episodes);
  const std::vector<std::string> endings = endings_of(targets);
  for (size_t i = 0; i < targets.size(); ++i) {
    const run::TargetReturns& target = targets[i];
    const double mean = base::mean(target.returns), score = normalisation.score(mean);
    evaluation.also["return" + endings[i]] = mean;
    if (target.returns.size() > 1) evaluation.also["deviation" + endings[i]] = base::deviation(target.returns);
    evaluation.also["score" + endings[i]] = score;
    const bool counts = i == 0 || (scored == ScoredTarget::best && score > evaluation.score);
    if (counts) evaluation.score = score;
  }
  return evaluation;
}

run::RolloutDetails details_of(const std::vector<PlayedEpisode>& episodes, const OfflineFacts& facts,
                               const OfflineRlConfig& config) {
  return {.robot = std::string(environments::info(*facts.robot).title),
          .normalisation = facts.normalisation.name,
          .random_return = facts.normalisation.random_return,
          .expert_return = facts.normalisation.expert_return,
          .checkpoint = config.train.keep == train::Keep::last ? "last" : "best",
          .data_returns = facts.data_returns,
          .targets = returns_by_target(episodes),
          .animations = animations_of(episodes, *facts.robot, config.data.version)};
}

}  // namespace primal::tasks
