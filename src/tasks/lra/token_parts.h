// A data set of the Long Range Arena in its parts.
#pragma once

#include "data/tokens/token_set.h"

namespace primal::tasks {

/// The parts that a task comes with. A task without a validation part has it empty.
struct TokenParts {
  data::TokenSet train, validation, test;
};

}  // namespace primal::tasks
