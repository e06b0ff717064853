// The batches of each step, made ready while the step before computes.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "train/order.h"
#include "train/problem.h"

namespace primal::train {

class BatchesAhead {
 public:
  /// Steps from `first` up to, but not including, `last`.
  BatchesAhead(const Problem& problem, const OrderOptions& order, int64_t first, int64_t last);

  /// Of the next step; those of the one after it are begun. Throws what making them threw.
  std::vector<std::unique_ptr<Batch>> next();

 private:
  using Batches = std::vector<std::unique_ptr<Batch>>;

  void begin();

  const Problem& problem_;
  Order order_;
  int64_t seed_, next_, last_;  // next_: the first step that is not begun
  std::future<Batches> pending_;
};

}  // namespace primal::train
