#pragma once

#include "tasks/family.h"

namespace primal::tasks {

/// Robots and other agents, learnt from logged episodes.
Family offline_rl_family();

}  // namespace primal::tasks
