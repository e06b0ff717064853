#include "base/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <limits>
#include <mutex>
#include <vector>

namespace primal::base {
namespace {

class ParallelWork {
 public:
  ParallelWork(int64_t count, const std::function<void(int64_t)>& work) : count_(count), work_(work) {}

  void take_turns() {
    for (int64_t i = next_++; i < count_; i = next_++) {
      try {
        work_(i);
      } catch (...) {
        next_ = count_;  // all before i have been begun, so the first that throws is among those that run
        const std::lock_guard lock(mutex_);
        if (i < failed_) failed_ = i, failure_ = std::current_exception();
      }
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const int64_t count_;
  const std::function<void(int64_t)>& work_;
  std::atomic<int64_t> next_ = 0;
  std::mutex mutex_;
  int64_t failed_ = std::numeric_limits<int64_t>::max();
  std::exception_ptr failure_;
};

}  // namespace

void in_parallel(int64_t count, int64_t threads, const std::function<void(int64_t)>& work) {
  ParallelWork shared(count, work);
  std::vector<std::future<void>> others;
  for (int64_t i = 1; i < std::min(threads, count); ++i) {
    others.push_back(std::async(std::launch::async, [&] { shared.take_turns(); }));
  }
  shared.take_turns();
  for (std::future<void>& other : others) other.get();
  shared.rethrow();
}

}  // namespace primal::base
