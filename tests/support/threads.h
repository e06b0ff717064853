// Leaves the threads of LibTorch as they were before a test.
#pragma once

#include "kernels/flush_denormals.h"
#include "ops/parallel.h"

namespace primal::tests {

/// Gives back the number of threads and whether they flush denormal numbers (as the calling thread does).
class ThreadsGuard {
 public:
  ThreadsGuard() = default;
  ThreadsGuard(const ThreadsGuard&) = delete;
  ThreadsGuard& operator=(const ThreadsGuard&) = delete;
  ~ThreadsGuard() {
    kernels::set_flush_denormals(flush_);
    ops::parallel_for(0, at::get_num_threads(), 1, [this](int64_t, int64_t) { kernels::set_flush_denormals(flush_); });
    at::set_num_threads(threads_);
  }

 private:
  int threads_ = at::get_num_threads();
  bool flush_ = kernels::flushes_denormals();
};

}  // namespace primal::tests
