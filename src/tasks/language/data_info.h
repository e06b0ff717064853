// The texts that are there, and what is in one: `primal data list` and `primal data info language/NAME`.
#pragma once

#include "tasks/family.h"

namespace primal::tasks {

std::vector<DataSet> language_data_sets(const data::SearchPath& search);
std::optional<DataInfo> language_info(const std::string& name, const data::SearchPath& search);

}  // namespace primal::tasks
