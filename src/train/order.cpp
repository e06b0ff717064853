#include "train/order.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/random.h"

namespace primal::train {

std::vector<int64_t> shuffled(int64_t examples, int64_t seed, int64_t pass) {
  std::vector<int64_t> order(static_cast<std::size_t>(examples));
  std::iota(order.begin(), order.end(), 0);
  // Two rounds of the generator part the streams of neighbouring seeds and passes.
  base::Random random(base::Random(static_cast<uint64_t>(seed)).next() + static_cast<uint64_t>(pass));
  for (int64_t i = examples - 1; i > 0; --i) std::swap(order[i], order[random.below(static_cast<uint64_t>(i) + 1)]);
  return order;
}

Order::Order(const OrderOptions& options) : o_(options) {}

const std::vector<int64_t>& Order::pass(int64_t number) {
  if (number != shuffled_pass_) {
    order_ = shuffled(o_.examples, o_.seed, number);
    shuffled_pass_ = number;
  }
  return order_;
}

std::pair<int64_t, int64_t> Order::batches_of(int64_t step) const {
  if (o_.passes == Passes::endless) return {step * o_.accumulate, (step + 1) * o_.accumulate};
  const int64_t start = step / steps_per_pass() * batches_per_pass();
  const int64_t first = step % steps_per_pass() * o_.accumulate;
  return {start + first, start + std::min(first + o_.accumulate, batches_per_pass())};
}

std::vector<int64_t> Order::examples_of(int64_t batch) {
  std::vector<int64_t> examples;
  if (o_.passes == Passes::whole) {
    const std::vector<int64_t>& order = pass(batch / batches_per_pass());
    const int64_t first = batch % batches_per_pass() * o_.batch;
    examples.assign(order.begin() + first, order.begin() + std::min(first + o_.batch, o_.examples));
    return examples;
  }
  for (int64_t at = batch * o_.batch; at < (batch + 1) * o_.batch; ++at) {
    examples.push_back(pass(at / o_.examples)[at % o_.examples]);
  }
  return examples;
}

int64_t Order::steps_of(base::Span span) const {
  if (span.unit == base::SpanUnit::steps) return span.count;
  if (o_.passes == Passes::whole) return span.count * steps_per_pass();
  const int64_t per_step = o_.batch * o_.accumulate;
  return (span.count * o_.examples + per_step - 1) / per_step;
}

double Order::epochs_at(int64_t steps) const {
  const auto examples = static_cast<double>(o_.examples);
  const auto per_step = static_cast<double>(o_.batch * o_.accumulate);
  if (o_.passes == Passes::endless) return static_cast<double>(steps) * per_step / examples;
  return static_cast<double>(steps / steps_per_pass()) +
         static_cast<double>(steps % steps_per_pass()) * per_step / examples;
}

int64_t Order::steps_at(double epochs) const {
  const double whole = o_.passes == Passes::whole ? std::floor(epochs) : 0;
  const double rest =
      (epochs - whole) * static_cast<double>(o_.examples) / static_cast<double>(o_.batch * o_.accumulate);
  return static_cast<int64_t>(whole) * steps_per_pass() + std::llround(rest);
}

bool Order::ends_pass(int64_t steps) const { return o_.passes == Passes::whole && steps % steps_per_pass() == 0; }

}  // namespace primal::train
