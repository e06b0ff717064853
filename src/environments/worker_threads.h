// Threads that are kept for work that comes in many small portions, one for each step of an episode.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace primal::environments {

/// As base::in_parallel, but that nobody waits for a thread that has not begun a piece: on a busy machine one may take
/// milliseconds to come, and the others have done it all by then.
class WorkerThreads {
 public:
  /// `threads` with that of the caller.
  explicit WorkerThreads(int64_t threads);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// work(0) to work(count - 1), begun in this order. If some throw, those not yet begun are left out, and what the
  /// first of them in order threw is thrown: the same for any number of threads. For one caller at a time.
  void run(int64_t count, const std::function<void(int64_t)>& work);

 private:
  bool has_pieces() const { return next_ < count_; }
  void take_pieces(std::unique_lock<std::mutex>& lock);
  void serve();

  std::mutex mutex_;  // for all that follows; a piece takes long beside a lock
  std::condition_variable begun_, done_;
  const std::function<void(int64_t)>* work_ = nullptr;  // there as long as there are pieces
  int64_t next_ = 0, count_ = 0;                        // pieces
  int64_t running_ = 0;
  int64_t failed_ = 0;  // the piece that failure_ is of
  std::exception_ptr failure_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace primal::environments
