#include "kernels/flush_denormals.h"

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace primal::kernels {

namespace {

// The register that holds the mode, and the bits of it that flush.
#if defined(__x86_64__)

constexpr bool kKnown = true;
constexpr uint64_t kFlushBits = (1U << 15) | (1U << 6);  // MXCSR: flush results, denormals are zeros
uint64_t control_register() { return _mm_getcsr(); }
void set_control_register(uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }

#elif defined(__aarch64__)

constexpr bool kKnown = true;
constexpr uint64_t kFlushBits = 1U << 24;  // FPCR.FZ: inputs and results of single and double precision
uint64_t control_register() {
  uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_control_register(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }

#else

constexpr bool kKnown = false;
constexpr uint64_t kFlushBits = 1;
uint64_t control_register() { return 0; }
void set_control_register(uint64_t) {}

#endif

}  // namespace

bool set_flush_denormals(bool flush) {
  const uint64_t others = control_register() & ~kFlushBits;
  set_control_register(flush ? others | kFlushBits : others);
  return kKnown;
}

bool flushes_denormals() { return (control_register() & kFlushBits) == kFlushBits; }

}  // namespace primal::kernels
