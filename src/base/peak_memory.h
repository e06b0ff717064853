// The most memory that the process has used at one time.
#pragma once

#include <cstdint>

namespace primal::base {

/// Peak resident memory in bytes since the start of the process or the last reset.
std::int64_t peak_memory();

/// Starts anew from the memory in use now. False where the system cannot do that (it needs Linux and /proc); the peak
/// then still counts from the start of the process.
bool reset_peak_memory();

}  // namespace primal::base
