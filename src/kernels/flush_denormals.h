// Flushing of denormal numbers to zero, a mode of each thread's floating-point unit.
//
// The moments of a converged model fall below 1e-38, and x86 computes with such numbers up to a hundred times slower.
#pragma once

namespace primal::kernels {

/// Makes the calling thread take denormal inputs for 0 and give 0 for denormal results (or stops that). Threads that it
/// starts afterwards inherit the mode. False, and nothing done, on a CPU where we do not know how.
bool set_flush_denormals(bool flush);

/// Whether the calling thread flushes both inputs and results.
bool flushes_denormals();

/// Sets the mode of the calling thread and gives the former one back at the end of the scope.
class FlushDenormalsGuard {
 public:
  explicit FlushDenormalsGuard(bool flush = true) : before_(flushes_denormals()) { set_flush_denormals(flush); }
  ~FlushDenormalsGuard() { set_flush_denormals(before_); }
  FlushDenormalsGuard(const FlushDenormalsGuard&) = delete;
  FlushDenormalsGuard& operator=(const FlushDenormalsGuard&) = delete;

 private:
  bool before_;
};

}  // namespace primal::kernels
