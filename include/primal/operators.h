// The operators torch.ops.primal in a program that uses no other part of the library, such as one that runs exported
// models (.pt2): they name the operators, and the program must have them.
//
//   primal::load_operators();
//   torch::inductor::AOTIModelPackageLoader model("model.pt2");
#pragma once

#include "primal/export.h"

namespace primal {

/// Loading libprimal.so registers the operators; this call only keeps linkers that drop unused libraries (--as-needed,
/// a default of some systems) from dropping it. Without the call, link with -Wl,--no-as-needed.
PRIMAL_API void load_operators();

}  // namespace primal
