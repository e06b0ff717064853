// The family "language": models that predict the next token of a text.
#pragma once

#include "tasks/family.h"

namespace primal::tasks {

Family language_family();

}  // namespace primal::tasks
