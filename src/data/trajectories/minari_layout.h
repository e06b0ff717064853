// Minari's layout (main_data.hdf5): a group per episode, with one observation more than steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "data/trajectories/hdf5_file.h"
#include "data/trajectories/trajectories.h"

namespace primal::data {

/// "episode_12" -> 12; nothing for other names.
std::optional<int64_t> minari_episode(std::string_view name);

Trajectories read_minari(Hdf5File& file);

}  // namespace primal::data
