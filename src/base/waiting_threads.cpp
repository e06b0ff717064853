#include "base/waiting_threads.h"

#include <unistd.h>

#include <cstdlib>

namespace primal::base {

namespace {

// Turns of the loop, some microseconds: longer than the gaps between the parallel parts of a training step, far shorter
// than the time slice of a process. docs/performance.md has what was measured.
constexpr const char* kTurns = "1000";

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

}  // namespace

void limit_spinning(char** argv) {
  if (is_set("GOMP_SPINCOUNT") || is_set("OMP_WAIT_POLICY")) return;
  ::setenv("GOMP_SPINCOUNT", kTurns, /*overwrite=*/0);
  ::execv("/proc/self/exe", argv);  // comes back only if it fails
}

}  // namespace primal::base
