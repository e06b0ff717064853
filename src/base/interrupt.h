// InterruptGuard: Ctrl-C as a question that the training loop asks between two steps.
#pragma once

#include <csignal>

namespace primal::base {

/// While it lives, the first SIGINT or SIGTERM is only remembered, so that the loop can write a checkpoint; a second
/// one of either ends the process at once (a shell then sees 130 or 143). The destructor brings the handlers of before
/// back.
///
///   const InterruptGuard guard;
///   while (!guard.interrupted()) train_step();
///
/// Handlers belong to the process: one guard at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const { return signal() != 0; }
  /// SIGINT or SIGTERM, 0 before: 128 + signal() is the exit code that shells expect.
  int signal() const;

 private:
  struct sigaction previous_int_ {};
  struct sigaction previous_term_ {};
};

}  // namespace primal::base
