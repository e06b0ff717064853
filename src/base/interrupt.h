// InterruptGuard: Ctrl-C as a question that the training loop asks between two steps.
#pragma once

#include <array>
#include <csignal>

namespace primal::base {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP is only remembered, so that the loop can write a checkpoint;
/// after it a SIGINT or SIGTERM ends the process at once (a shell then sees 130 or 143). A SIGHUP that is ignored, as
/// nohup asks for, stays so. The destructor brings the handlers of before back.
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
  /// SIGINT, SIGTERM or SIGHUP, 0 before: 128 + signal() is the exit code that shells expect.
  int signal() const;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> previous_{};
};

}  // namespace primal::base
