#include "measure.h"

#include <chrono>
#include <cstdlib>  // defines __GLIBC__
#include <iterator>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/allocator.h"
#include "base/peak_memory.h"

namespace primal::bench {

namespace {

constexpr int64_t kPilot = 2;      // examples from which those that follow are estimated
constexpr double kShortest = 0.2;  // s: quick steps are timed for at least as long
constexpr double kLongest = 3;     // multiples of Limits::step_seconds after which no further step is timed
constexpr double kMegabyte = 1024 * 1024;

// Blocks from 64 KiB on go back to the system when they are freed, so that holes between blocks do not count: with them
// half a batch would take up to two thirds of the memory of a whole one.
void return_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
#endif
}

double resident_peak_megabytes() { return static_cast<double>(base::peak_memory()) / kMegabyte; }

// The first calls: threads, buffers of the BLAS, code that is loaded.
void warm_up(Job& job) {
  job.prepare(1);
  job.run();
}

// Half as many until a step is within the limits, as the steps of a few examples promise.
int64_t examples_within(const Limits& limits, Job& job, double before) {
  if (limits.examples <= kPilot) return limits.examples;
  job.prepare(kPilot);
  job.run();
  const double seconds = seconds_of([&] { job.run(); }) / kPilot;
  const double gigabytes = (resident_peak_megabytes() - before) / 1024 / kPilot;
  int64_t examples = limits.examples;
  const auto is_too_much = [&] {
    const auto count = static_cast<double>(examples);
    return count * seconds > limits.step_seconds || count * gigabytes > limits.gigabytes;
  };
  while (examples > 1 && is_too_much()) examples /= 2;
  return examples;
}

bool is_enough(const std::vector<double>& seconds, double total, const Limits& limits) {
  if (seconds.empty()) return false;
  return (std::ssize(seconds) >= limits.steps && total >= kShortest) || total > kLongest * limits.step_seconds;
}

}  // namespace

double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Measured measure(const std::function<std::unique_ptr<Job>(bool is_short)>& make, const Limits& limits) {
  return_freed_memory();
  warm_up(*make(/*is_short=*/true));
  const auto job = make(/*is_short=*/false);
  base::reset_peak_memory();
  const double before = resident_peak_megabytes();
  Measured measured{.examples = examples_within(limits, *job, before), .seconds = {}};
  base::reset_peak_memory();  // the pilot may have had more examples
  job->prepare(measured.examples);
  job->run();
  measured.megabytes = resident_peak_megabytes() - before;
  base::keep_freed_memory();
  job->run();
  for (double total = 0; !is_enough(measured.seconds, total, limits);) {
    measured.seconds.push_back(seconds_of([&] { job->run(); }));
    total += measured.seconds.back();
  }
  return measured;
}

}  // namespace primal::bench
