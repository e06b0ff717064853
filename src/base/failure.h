// Failure: a run that cannot go on, through no mistake in its input.
#pragma once

#include <stdexcept>
#include <string>

namespace primal::base {

/// A loss that is not finite, say. The program ends with exit code 1.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What to try when numbers ran away; `clip` is train.clip.
inline std::string smaller_steps(double clip) {
  return clip > 0 && clip <= 1 ? "try a smaller optimizer.lr" : "try a smaller optimizer.lr or train.clip=1";
}

}  // namespace primal::base
