// `primal data info` of a set of series, or of a file of one's own.
#pragma once

#include <optional>
#include <string>

#include "tasks/family.h"

namespace primal::tasks {

/// NAME: a set of the search path, also in the form of a preset (uea/NAME), or a .ts or CSV file.
std::optional<DataInfo> series_info(const std::string& name, const data::SearchPath& search);

}  // namespace primal::tasks
