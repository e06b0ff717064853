#include "base/interrupt.h"

#include <atomic>
#include <cassert>

namespace primal::base {
namespace {

// Like a volatile sig_atomic_t, a lock-free atomic may be written by a handler; unlike it, also while another thread
// reads: the kernel runs the handler on any thread, and LibTorch has several.
std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free);
std::atomic<bool> guarded = false;

extern "C" void remember_signal(int number) {
  received.store(number, std::memory_order_relaxed);
  // signal() is async-signal-safe. Both go back to the default: whatever comes second ends the process.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  [[maybe_unused]] const bool second = guarded.exchange(true);
  assert(!second && "one InterruptGuard at a time");
  received = 0;
  struct sigaction action {};
  action.sa_handler = remember_signal;
  action.sa_flags = SA_RESTART;  // reads and writes under way go on
  ::sigemptyset(&action.sa_mask);
  // Neither may cut into the other's handler and be lost when that one restores the default.
  ::sigaddset(&action.sa_mask, SIGINT);
  ::sigaddset(&action.sa_mask, SIGTERM);
  // Also where SIGINT was ignored: that is how a script starts `primal train &`, whose `kill -INT` should work too.
  ::sigaction(SIGINT, &action, &previous_int_);
  ::sigaction(SIGTERM, &action, &previous_term_);
}

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGINT, &previous_int_, nullptr);
  ::sigaction(SIGTERM, &previous_term_, nullptr);
  guarded = false;
}

int InterruptGuard::signal() const { return received.load(std::memory_order_relaxed); }

}  // namespace primal::base
