// The inputs of each batch of an epoch, made ready while the previous batch computes.
#pragma once

#include <future>
#include <memory>
#include <span>
#include <vector>

#include "train/problem.h"

namespace primal::train {

class InputsAhead {
 public:
  /// order: numbers of the examples, from the first batch that is wanted on; cut into batches of `size`.
  InputsAhead(const Problem& problem, std::span<const int64_t> order, int64_t size);

  /// Of the next batch; the one after it is begun. Throws what making it threw.
  std::unique_ptr<BatchInputs> next();

 private:
  void begin();

  const Problem& problem_;
  std::vector<int64_t> order_;
  size_t size_, begun_ = 0;  // examples of the batches begun so far
  std::future<std::unique_ptr<BatchInputs>> pending_;
};

}  // namespace primal::train
