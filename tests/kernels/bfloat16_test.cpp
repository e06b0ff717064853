#include "kernels/bfloat16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/cpu_targets.h"

namespace primal::kernels {
namespace {

using tests::on_every_cpu_target;

float value_of(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

std::vector<uint16_t> narrowed(const std::vector<float>& numbers) {
  std::vector<uint16_t> bits(numbers.size());
  narrow_to_bfloat16(numbers.data(), static_cast<int64_t>(numbers.size()), bits.data());
  return bits;
}

TEST(Bfloat16, EveryNumberIsWidenedExactlyAndComesBack) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  on_every_cpu_target([&] {
    std::vector<float> wide(all.size());
    widen_bfloat16(all.data(), static_cast<int64_t>(all.size()), wide.data());
    const std::vector<uint16_t> back = narrowed(wide);
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), static_cast<uint32_t>(i) << 16);
      if (std::isnan(wide[i])) {
        ASSERT_TRUE(std::isnan(value_of(back[i])));
      } else {
        ASSERT_EQ(back[i], all[i]);
      }
    }
  });
}

// Of the two bfloat16 numbers around a float the nearer one, of two equally near ones the one whose last bit is 0.
TEST(Bfloat16, RoundsToTheNearest) {
  std::mt19937 random(5);
  std::vector<float> numbers;
  for (int i = 0; i < 100000; ++i) numbers.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  for (const uint32_t tie : {0x3f808000U, 0x3f818000U, 0xbf808000U, 0x00008000U, 0x7f7f8000U, 0x7f7f7fffU}) {
    numbers.push_back(std::bit_cast<float>(tie));
  }
  on_every_cpu_target([&] {
    const std::vector<uint16_t> bits = narrowed(numbers);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double x = numbers[i], given = value_of(bits[i]);
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(given));
        continue;
      }
      if (std::isinf(given)) {  // beyond the middle between the largest number and the next power of two
        ASSERT_GE(std::abs(x), std::ldexp(2 - std::ldexp(1.0, -8), 127));
        ASSERT_EQ(std::signbit(x), std::signbit(given));
        continue;
      }
      const double error = std::abs(x - given);
      for (const int step : {-1, 1}) {
        const double other = value_of(static_cast<uint16_t>(bits[i] + step));
        if (!std::isfinite(other)) continue;
        ASSERT_LE(error, std::abs(x - other)) << x;
        const bool tie = error > 0 && error == std::abs(x - other);
        ASSERT_TRUE(!tie || bits[i] % 2 == 0) << x;
      }
    }
  });
}

TEST(Bfloat16, TouchesNothingBeyondTheCount) {
  on_every_cpu_target([&] {
    for (int64_t count = 0; count < 40; ++count) {
      const std::vector<float> from(64, 1.5f);
      std::vector<uint16_t> to(64, 77);
      narrow_to_bfloat16(from.data() + 1, count, to.data() + 3);
      std::vector<float> wide(64, -7);
      widen_bfloat16(to.data() + 3, count, wide.data() + 5);
      for (int64_t i = 0; i < 64; ++i) {
        EXPECT_EQ(to[i], i >= 3 && i < 3 + count ? 0x3fc0 : 77);
        EXPECT_EQ(wide[i], i >= 5 && i < 5 + count ? 1.5f : -7);
      }
    }
  });
}

}  // namespace
}  // namespace primal::kernels
