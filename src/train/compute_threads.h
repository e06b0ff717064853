// The threads that compute: how many, and that none of them slows down on denormal numbers.
#pragma once

#include <cstdint>

namespace primal::train {

inline constexpr int64_t kMostThreads = 1024;

/// Gives LibTorch `threads` threads and makes all of them flush denormal numbers to zero (a converged model trains up
/// to 9 times slower on x86 otherwise). Call it from the thread that trains, before or after the first computation.
///
/// This reaches at::parallel_for, MKL and oneDNN, which share one OpenMP pool per calling thread, and the backward
/// pass, which runs in the calling thread. Threads started later inherit the mode from the one that starts them. Throws
/// Error for less than 1 or more than kMostThreads, or if a thread of the pool does not obey.
void set_up_compute_threads(int64_t threads);

/// Whether the calling thread and every thread of its pool flush denormal numbers; asks each of them.
bool denormals_are_flushed_everywhere();

}  // namespace primal::train
