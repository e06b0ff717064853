// Episodes that an agent plays, many side by side, and what they say of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/evaluation.h"
#include "run/rollout_details.h"
#include "tasks/offline_rl/offline_data.h"
#include "tasks/offline_rl/played_episode.h"
#include "tasks/offline_rl/policy.h"

namespace primal::tasks {

struct RolloutOrder {
  std::vector<double> targets;  ///< returns to ask for; not looked at by a policy that takes none
  int64_t episodes = 10;        ///< of each target; episode i starts alike for every target
  uint64_t seed = 1;
  int64_t first = 0;  ///< number of the first episode: another start for each number
  int64_t threads = 1;
  bool keep_positions = false;  ///< for animations
};

/// Targets one after another, each with its episodes in order. The policy's model must be in evaluation mode.
/// facts.robot: there
std::vector<PlayedEpisode> play(Policy& policy, const OfflineFacts& facts, const OfflineRlConfig& config,
                                const RolloutOrder& order);

/// Mean return of each target, normalised; the score is of the first or of the best one.
run::Evaluation evaluation_of(const std::vector<PlayedEpisode>& episodes, const Normalisation& normalisation,
                              ScoredTarget scored);

/// Returns by target, those of the data, and the best, the median and the worst episode of the first target frame by
/// frame, where positions were kept.
run::RolloutDetails details_of(const std::vector<PlayedEpisode>& episodes, const OfflineFacts& facts,
                               const OfflineRlConfig& config);

}  // namespace primal::tasks
