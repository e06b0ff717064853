// The family of the Long Range Arena.
#pragma once

#include "tasks/family.h"

namespace primal::tasks {

Family lra_family();

}  // namespace primal::tasks
