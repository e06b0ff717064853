#include "train/compute_threads.h"

#include <atomic>
#include <string>

#include "kernels/flush_denormals.h"
#include "ops/parallel.h"
#include "primal/error.h"

namespace primal::train {

namespace {

// As many pieces of work as threads, so that each gets exactly one.
template <typename Body>
void on_every_thread(const Body& body) {
  body();
  ops::parallel_for(0, at::get_num_threads(), 1, [&](int64_t, int64_t) { body(); });
}

}  // namespace

void set_up_compute_threads(int64_t threads) {
  if (threads < 1 || threads > kMostThreads) {
    throw Error("threads: expected 1 to " + std::to_string(kMostThreads) + ", got " + std::to_string(threads));
  }
  at::set_num_threads(static_cast<int>(threads));
  if (!kernels::set_flush_denormals(true)) return;  // a CPU where it cannot be set
  on_every_thread([] { kernels::set_flush_denormals(true); });
  if (!denormals_are_flushed_everywhere()) {
    throw Error("compute threads: one of " + std::to_string(threads) + " threads does not flush denormal numbers");
  }
}

bool denormals_are_flushed_everywhere() {
  std::atomic<bool> everywhere = true;
  on_every_thread([&] {
    if (!kernels::flushes_denormals()) everywhere = false;
  });
  return everywhere;
}

}  // namespace primal::train
