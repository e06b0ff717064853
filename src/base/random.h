// A small generator whose numbers are the same on every machine and with every standard library.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace primal::base {

/// splitmix64: passes the usual batteries, one word of state.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  /// The generator number `number` of `seed`: neighbouring seeds and numbers have nothing in common, so that what is
  /// drawn for one batch depends on no other. `purpose` keeps apart what is drawn for different reasons.
  static Random numbered(uint64_t seed, uint64_t purpose, uint64_t number) {
    return Random(Random(Random(seed).next() ^ Random(purpose).next()).next() + number);
  }

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
  /// Uniform on [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Of the normal distribution, mean 0 and deviation 1 (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  uint64_t state_;
};

}  // namespace primal::base
