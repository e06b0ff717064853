// Whether trajectories can be written: what no reader would take must not become a file.
#pragma once

#include <string>
#include <vector>

#include "data/trajectories/trajectories.h"

namespace primal::data {

/// Throws primal::Error, "<name>: ...", unless there is a row, sizes fit together, numbers are finite, and episodes
/// follow each other from the first row to the last. `next_states` may be empty.
void check_trajectories(const Trajectories& trajectories, const std::vector<float>& next_states,
                        const std::string& name);

}  // namespace primal::data
