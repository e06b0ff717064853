// How the program records data sets of robots itself: `primal data make offline-rl/...`.
#pragma once

#include <span>

#include "tasks/make_data.h"

namespace primal::tasks {

std::span<const DataMaker> offline_rl_makers();

}  // namespace primal::tasks
