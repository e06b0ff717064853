// Locks that a forked child can use. A child has only the thread that forked: what another thread had locked would stay
// so for ever.
#pragma once

#include <pthread.h>

#include <mutex>

namespace primal::ops {

/// Lets fork() wait for the mutex, which is free in the child. Call once, while the library is loaded:
///   std::mutex mutex;
///   const bool survives_fork = fork_waits_for<mutex>();
/// A thread that holds one of these mutexes takes no other of them.
template <std::mutex& mutex>
bool fork_waits_for() {
  return pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); }) == 0;
}

}  // namespace primal::ops
