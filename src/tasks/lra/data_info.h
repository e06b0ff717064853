// `primal data info lra/listops`.
#pragma once

#include <optional>
#include <string>

#include "tasks/family.h"

namespace primal::tasks {

/// Nothing if the name is none of this family.
std::optional<DataInfo> lra_info(const std::string& name, const data::SearchPath& search);

}  // namespace primal::tasks
