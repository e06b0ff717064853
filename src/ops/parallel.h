// at::parallel_for with its beginning and end made known to ThreadSanitizer, which does not see those of an OpenMP
// run-time that was compiled without it.
#pragma once

#include <ATen/Parallel.h>

#include <cstdint>

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace primal::ops {

/// body(begin, end) on parts of the range, in parallel, as at::parallel_for.
template <typename Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
#if AT_PARALLEL_OPENMP && !defined(_OPENMP) && !defined(__clang_analyzer__)
  static_assert(sizeof(Body) == 0, "compile with -fopenmp: without it, LibTorch's header makes this a serial loop");
#endif
#ifdef __SANITIZE_THREAD__
  char started = 0, finished = 0;
  __tsan_release(&started);
  at::parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
    __tsan_acquire(&started);
    body(from, to);
    __tsan_release(&finished);
  });
  __tsan_acquire(&finished);
#else
  at::parallel_for(begin, end, grain, body);
#endif
}

}  // namespace primal::ops
