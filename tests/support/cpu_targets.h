// Runs a test with every CPU target that the machine has.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cpu_target.h"

namespace primal::tests {

/// Names of the targets that can run here, best first.
inline std::vector<std::string> available_cpu_targets() {
  std::vector<std::string> names;
  for (const kernels::CpuTarget& target : kernels::cpu_targets()) {
    if (target.available) names.push_back(target.name);
  }
  return names;
}

/// Gives the choice of the target back to the CPU at the end of a test.
struct CpuTargetGuard {
  CpuTargetGuard() = default;
  CpuTargetGuard(const CpuTargetGuard&) = delete;
  CpuTargetGuard& operator=(const CpuTargetGuard&) = delete;
  ~CpuTargetGuard() { kernels::use_cpu_target(""); }
};

/// Calls body once per target, with that target in use.
template <typename Body>
void on_every_cpu_target(const Body& body) {
  const CpuTargetGuard guard;
  for (const std::string& name : available_cpu_targets()) {
    SCOPED_TRACE("CPU target " + name);
    kernels::use_cpu_target(name);
    body();
  }
}

}  // namespace primal::tests
