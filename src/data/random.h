// A small generator whose numbers are the same on every machine and with every standard library.
#pragma once

#include <cstdint>

namespace primal::data {

/// splitmix64: passes the usual batteries, one word of state.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Uniform on 0 .. bound - 1, without the bias of a plain remainder.
  uint64_t below(uint64_t bound) {
    const uint64_t limit = ~uint64_t{0} - ~uint64_t{0} % bound;
    uint64_t value = next();
    while (value >= limit) value = next();
    return value % bound;
  }

 private:
  uint64_t state_;
};

}  // namespace primal::data
