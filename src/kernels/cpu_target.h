// Which instruction set the kernels run with. Each kernel is compiled for several; the best one the CPU has is used,
// unless the environment variable PRIMAL_CPU names another (for tests and for comparisons).
#pragma once

#include <string>
#include <vector>

namespace primal::kernels {

struct CpuTarget {
  std::string name;    ///< "SSE4", "AVX2", "AVX3" (AVX-512), ...
  bool available;      ///< can run here
  bool used;           ///< chosen now
  std::string reason;  ///< why it is not used; empty for the one that is
};

/// Every target that was compiled, best first.
std::vector<CpuTarget> cpu_targets();

/// Runs the kernels with the named target from now on; "" gives the choice back to the CPU.
/// Throws Error that lists the possible names. Not for use while kernels run.
void use_cpu_target(const std::string& name);

/// Reads PRIMAL_CPU, once per process.
void use_cpu_target_of_environment();

}  // namespace primal::kernels
