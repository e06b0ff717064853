// What the page shows of an agent in its environment, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "run/rollout_details.h"

namespace primal::report {

/// null if there were no rollouts. Else {robot, normalisation, random, expert, checkpoint, dataReturns, targets,
/// animations}: targets rise and carry mean, deviation (n - 1) and score of their returns; an animation has its frames,
/// each a flat list of x1, z1, x2, z2 of the capsules.
nlohmann::json rollouts_json(const run::RolloutDetails& details);

/// 0 for the random return, 100 for that of the expert; NaN if these are the same.
double normalised_score(const run::RolloutDetails& details, double episode_return);

}  // namespace primal::report
