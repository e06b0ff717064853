#include "environments/worker_threads.h"

#include <utility>

namespace primal::environments {

WorkerThreads::WorkerThreads(int64_t threads) {
  for (int64_t i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

WorkerThreads::~WorkerThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::run(int64_t count, const std::function<void(int64_t)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  next_ = 0;
  count_ = count;
  if (count > 1) begun_.notify_all();
  take_pieces(lock);
  done_.wait(lock, [&] { return running_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WorkerThreads::take_pieces(std::unique_lock<std::mutex>& lock) {
  while (has_pieces()) {
    const int64_t piece = next_++;
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*work_)(piece);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --running_;
    if (!failure) continue;
    next_ = count_;  // all before this one have been begun, so the first that throws is among those that run
    if (!failure_ || piece < failed_) failed_ = piece, failure_ = failure;
  }
  if (running_ == 0) done_.notify_all();
}

void WorkerThreads::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [&] { return stopping_ || has_pieces(); });
    if (stopping_) return;
    take_pieces(lock);
  }
}

}  // namespace primal::environments
