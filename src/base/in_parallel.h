// Pieces of work on several threads, for code that does not know LibTorch.
#pragma once

#include <cstdint>
#include <functional>

namespace primal::base {

/// work(0) to work(count - 1), begun in this order, each on one of `threads` threads, of which the caller's is one. If
/// some throw, those not yet begun are left out, and what the first of them in order threw is thrown: the same for any
/// number of threads.
void in_parallel(int64_t count, int64_t threads, const std::function<void(int64_t)>& work);

}  // namespace primal::base
