#include "train/inputs_ahead.h"

#include <ATen/Parallel.h>

#include <stdexcept>

extern "C" void omp_set_num_threads(int count);  // of this thread; omp.h is the compiler's own, clang-tidy has none

namespace primal::train {

namespace {

// A second pool of compute threads beside the one at work would only slow both down.
void use_one_thread() {
  at::get_num_threads();  // LibTorch sets a new thread up at its first question
  omp_set_num_threads(1);
}

}  // namespace

InputsAhead::InputsAhead(const Problem& problem, std::span<const int64_t> order, int64_t size)
    : problem_(problem), order_(order.begin(), order.end()), size_(static_cast<size_t>(size)) {
  begin();
}

void InputsAhead::begin() {
  const size_t first = begun_;
  if (first == order_.size()) return;
  begun_ = std::min(first + size_, order_.size());
  pending_ = std::async(std::launch::async, [this, first, end = begun_] {
    use_one_thread();
    return problem_.inputs(
        {order_.begin() + static_cast<std::ptrdiff_t>(first), order_.begin() + static_cast<std::ptrdiff_t>(end)});
  });
}

std::unique_ptr<BatchInputs> InputsAhead::next() {
  if (!pending_.valid()) throw std::logic_error("InputsAhead::next: the epoch has no batch left");
  std::unique_ptr<BatchInputs> inputs = pending_.get();
  begin();
  return inputs;
}

}  // namespace primal::train
