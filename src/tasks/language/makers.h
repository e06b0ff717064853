// Texts and vocabularies that the program gets or makes itself: `primal data make language/...`.
#pragma once

#include <span>

#include "tasks/make_data.h"

namespace primal::tasks {

std::span<const DataMaker> language_makers();

}  // namespace primal::tasks
