#include "base/peak_memory.h"

#include <sys/resource.h>

#include <fstream>
#include <string>

namespace primal::base {
namespace {

/// "VmHWM:   123456 kB" of /proc/self/status; 0 if there is none.
std::int64_t high_water_mark_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t value = 0;
    if (word == "VmHWM:" && status >> value) return value;
  }
  return 0;
}

}  // namespace

std::int64_t peak_memory() {
  // First VmHWM: getrusage's number never falls, and a child process starts with that of its parent.
  if (const std::int64_t kib = high_water_mark_kib(); kib > 0) return kib * 1024;
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

bool reset_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;  // 5: the peak of resident memory; see proc(5)
  return file.good() && high_water_mark_kib() > 0;
}

}  // namespace primal::base
