#include "kernels/cpu_target.h"

#include <hwy/highway.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "primal/error.h"

namespace primal::kernels {

namespace {

// Highway numbers its targets so that a better one has a lower bit.
std::vector<int64_t> compiled_targets() {
  std::vector<int64_t> targets;
  for (int64_t rest = HWY_TARGETS; rest != 0; rest &= rest - 1) targets.push_back(rest & -rest);
  return targets;
}

int64_t supported_by_cpu() {
  static const int64_t supported = [] {
    hwy::SetSupportedTargetsForTest(0);
    return hwy::SupportedTargets();
  }();
  return supported;
}

int64_t current_target() {
  const int64_t enabled = hwy::SupportedTargets() & HWY_TARGETS;
  return enabled & -enabled;
}

void enable(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

std::vector<CpuTarget> cpu_targets() {
  const int64_t supported = supported_by_cpu();
  const int64_t current = current_target();
  std::vector<CpuTarget> result;
  for (const int64_t target : compiled_targets()) {
    CpuTarget info{hwy::TargetName(target), (supported & target) != 0, target == current, ""};
    if (!info.available) {
      info.reason = "this CPU does not have it";
    } else if (!info.used) {
      info.reason = target < current ? "PRIMAL_CPU asks for another" : "a better one is available";
    }
    result.push_back(info);
  }
  return result;
}

void use_cpu_target(const std::string& name) {
  if (name.empty()) return enable(supported_by_cpu());
  std::string possible;
  for (const int64_t target : compiled_targets()) {
    if ((supported_by_cpu() & target) == 0) continue;
    if (name == hwy::TargetName(target)) return enable(target);
    possible += (possible.empty() ? "" : ", ") + std::string(hwy::TargetName(target));
  }
  throw Error("PRIMAL_CPU=" + name + ": this CPU has " + possible);
}

void use_cpu_target_of_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (const char* name = std::getenv("PRIMAL_CPU"); name != nullptr) use_cpu_target(name);
  });
}

}  // namespace primal::kernels
