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
  // signal() is async-signal-safe. A second Ctrl-C or kill ends the process; a terminal that closes must not.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGHUP, SIG_IGN);
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
  // None may cut into another's handler and be lost when that one restores the default.
  for (const int number : kSignals) ::sigaddset(&action.sa_mask, number);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &previous_[i]);
    // An ignored SIGINT is how a script starts `primal train &`, whose `kill -INT` should work too.
    const bool is_nohup = kSignals[i] == SIGHUP && previous_[i].sa_handler == SIG_IGN;
    if (!is_nohup) ::sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &previous_[i], nullptr);
  guarded = false;
}

int InterruptGuard::signal() const { return received.load(std::memory_order_relaxed); }

}  // namespace primal::base
