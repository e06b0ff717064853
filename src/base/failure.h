// Why work ends early, through no mistake in its input.
#pragma once

#include <stdexcept>

namespace primal::base {

/// A loss that is not finite, say. The program ends with exit code 1.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Ctrl-C, where there is nothing to go on from. The program ends with exit code 130.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace primal::base
