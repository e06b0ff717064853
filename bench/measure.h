// Time and memory of a job in a process that does nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace primal::bench {

class Job {
 public:
  virtual ~Job() = default;
  /// Works once on so many examples, which are made here: they are not part of what is measured.
  virtual void prepare(int64_t examples) = 0;
  virtual void run() = 0;
};

/// That the call takes.
double seconds_of(const std::function<void()>& call);

struct Limits {
  int64_t examples = 1;     ///< of a batch, as published
  int64_t steps = 3;        ///< that are timed
  double step_seconds = 3;  ///< a step that would take longer has fewer examples
  double gigabytes = 8;     ///< a step that would need more too
};

struct Measured {
  int64_t examples = 0;         ///< that a batch had
  std::vector<double> seconds;  ///< of each step that was timed
  double megabytes = 0;         ///< peak of the resident memory above what was resident before
};

/// make: the job, or the same with sequences that are short. Memory is what a step has in use at one time: freed
/// blocks go back to the system. Then they are kept, as the program keeps them, and the steps are timed.
Measured measure(const std::function<std::unique_ptr<Job>(bool is_short)>& make, const Limits& limits);

}  // namespace primal::bench
