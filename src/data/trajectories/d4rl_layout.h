// D4RL's layout: one data set per kind of value, the steps of all episodes in a row; flags say where one ends.
#pragma once

#include "data/trajectories/hdf5_file.h"
#include "data/trajectories/trajectories.h"

namespace primal::data {

Trajectories read_d4rl(Hdf5File& file);

}  // namespace primal::data
