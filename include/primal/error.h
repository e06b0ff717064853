// primal::Error: the one exception type of the library's own checks.
#pragma once

#include <stdexcept>
#include <string>

#include "primal/export.h"

namespace primal {

/// A mistake in what the caller gave: shape, option, file. The message is one line that names the operation,
/// what was expected and what came ("primal_attention: width 510 is not divisible by 8 heads").
class PRIMAL_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace primal
