#include "train/batches_ahead.h"

#include <ATen/Parallel.h>

#include <stdexcept>

extern "C" void omp_set_num_threads(int count);  // of this thread; omp.h is the compiler's own, clang-tidy has none

namespace primal::train {

namespace {

constexpr uint64_t kBatchChances = 1;  // the purpose of these random numbers

// A second pool of compute threads beside the one at work would only slow both down.
void use_one_thread() {
  at::get_num_threads();  // LibTorch sets a new thread up at its first question
  omp_set_num_threads(1);
}

}  // namespace

BatchesAhead::BatchesAhead(const Problem& problem, const OrderOptions& order, int64_t first, int64_t last)
    : problem_(problem), order_(order), seed_(order.seed), next_(first), last_(last) {
  begin();
}

void BatchesAhead::begin() {
  if (next_ >= last_) return;
  pending_ = std::async(std::launch::async, [this, step = next_++] {
    use_one_thread();
    Batches batches;
    const auto [first, end] = order_.batches_of(step);
    for (int64_t k = first; k < end; ++k) {
      batches.push_back(problem_.batch(
          order_.examples_of(k),
          base::Random::numbered(static_cast<uint64_t>(seed_), kBatchChances, static_cast<uint64_t>(k))));
    }
    return batches;
  });
}

std::vector<std::unique_ptr<Batch>> BatchesAhead::next() {
  if (!pending_.valid()) throw std::logic_error("BatchesAhead::next: there is no step left");
  Batches batches = pending_.get();
  begin();
  return batches;
}

}  // namespace primal::train
