// Episodes frame by frame, for pages.
#pragma once

#include <vector>

#include "environments/robots.h"
#include "run/rollout_details.h"
#include "tasks/offline_rl/played_episode.h"

namespace primal::tasks {

/// The best, the median and the worst of the episodes of the first target; all of them if there are fewer. Nothing
/// without positions.
std::vector<run::Animation> animations_of(const std::vector<PlayedEpisode>& episodes, environments::Robot robot,
                                          environments::Version version);

}  // namespace primal::tasks
