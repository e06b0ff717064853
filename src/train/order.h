// Which training examples each batch has.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/span.h"

namespace primal::train {

/// How passes over the training examples follow each other.
enum class Passes {
  whole,    ///< a pass ends with what is left: a shorter batch, a step of fewer batches
  endless,  ///< every batch is full: it runs on into the next pass
};

/// A permutation of 0 .. examples - 1 that depends on seed and pass alone, the same on every machine.
std::vector<int64_t> shuffled(int64_t examples, int64_t seed, int64_t pass);

struct OrderOptions {
  int64_t examples = 0;
  int64_t batch = 1;       ///< examples of a batch
  int64_t accumulate = 1;  ///< batches of a step
  int64_t seed = 1;
  Passes passes = Passes::whole;
};

/// Batch k is a function of seed and k: to resume anywhere nothing has to be stored.
class Order {
 public:
  explicit Order(const OrderOptions& options);

  /// Numbers of the batches of step 0, 1, ...: from first up to, but not including, second.
  std::pair<int64_t, int64_t> batches_of(int64_t step) const;
  std::vector<int64_t> examples_of(int64_t batch);

  /// Steps that make up a span, rounded up.
  int64_t steps_of(base::Span span) const;
  /// Passes over the training examples that so many steps are; whole passes are whole numbers.
  double epochs_at(int64_t steps) const;
  /// The other way round, to the nearest step.
  int64_t steps_at(double epochs) const;
  /// Whether a pass ends with that many steps; endless passes have no end.
  bool ends_pass(int64_t steps) const;

 private:
  int64_t batches_per_pass() const { return (o_.examples + o_.batch - 1) / o_.batch; }
  int64_t steps_per_pass() const { return (batches_per_pass() + o_.accumulate - 1) / o_.accumulate; }
  const std::vector<int64_t>& pass(int64_t number);

  OrderOptions o_;
  int64_t shuffled_pass_ = -1;  // the pass whose order is kept
  std::vector<int64_t> order_;
};

}  // namespace primal::train
