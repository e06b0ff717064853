// What `primal data list` and `primal data info` say of sets of episodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tasks/family.h"

namespace primal::tasks {

std::vector<DataSet> offline_rl_data_sets(const data::SearchPath& search);
/// Of a set, "offline-rl/NAME", or of an HDF5 file.
std::optional<DataInfo> offline_rl_info(const std::string& name, const data::SearchPath& search);

}  // namespace primal::tasks
