#include "base/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <random>

namespace {

using primal::base::Reading;

template <typename T>
Reading reading_of(std::string_view text) {
  T value = 7;
  return primal::base::read_number(text, value);
}

template <typename T>
T value_of(std::string_view text) {
  T value = 7;
  EXPECT_EQ(primal::base::read_number(text, value), Reading::kNumber) << text;
  return value;
}

TEST(Number, PlainAndScientificFormsAreRead) {
  EXPECT_EQ(value_of<float>("1"), 1.0F);
  EXPECT_EQ(value_of<float>("-0.25"), -0.25F);
  EXPECT_EQ(value_of<float>(".5"), 0.5F);
  EXPECT_EQ(value_of<float>("5."), 5.0F);
  EXPECT_EQ(value_of<float>("+2"), 2.0F);
  EXPECT_EQ(value_of<float>(" \t1e3 "), 1000.0F);
  EXPECT_EQ(value_of<float>("1E-3"), 0.001F);
  EXPECT_TRUE(std::signbit(value_of<float>("-0")));
  EXPECT_EQ(value_of<double>("0.1"), 0.1);
}

TEST(Number, MissingValuesAreAQuestionMarkOrNan) {
  for (const char* text : {"?", " ? ", "nan", "NaN", "NAN", "-nan"}) {
    EXPECT_EQ(reading_of<float>(text), Reading::kMissing) << text;
  }
}

TEST(Number, WhatIsNoFiniteNumberIsToldApart) {
  for (const char* text : {"", " ", "\t"}) EXPECT_EQ(reading_of<float>(text), Reading::kEmpty) << text;
  for (const char* text : {"inf", "-Inf", "INFINITY", "+inf"}) {
    EXPECT_EQ(reading_of<float>(text), Reading::kInfinite) << text;
  }
  for (const char* text : {"x", "1x", "1 2", "0x10", "1_000", "--1", "+-1", "++1", "+", "-", ".", "e5", "1e", "nan(1)",
                           "??", "1,5", "NA"}) {
    EXPECT_EQ(reading_of<float>(text), Reading::kOther) << text;
  }
}

TEST(Number, TooLargeIsRefusedAndTooSmallIsZero) {
  const std::string zeros(400, '0');
  for (const std::string& text :
       {std::string("1e400"), std::string("-1e400"), "1" + zeros, "1" + zeros + "e-9", std::string("0.1e402"),
        std::string("1e99999999999999999999999"), "0." + zeros + "1e+900"}) {
    EXPECT_EQ(reading_of<float>(text), Reading::kTooLarge) << text;
    EXPECT_EQ(reading_of<double>(text), Reading::kTooLarge) << text;
  }
  for (const std::string& text :
       {std::string("1e-400"), std::string("-1e-400"), "0." + zeros + "1", "-." + zeros + "1e9", "1" + zeros + "e-900",
        std::string("1e-99999999999999999999999")}) {
    EXPECT_EQ(value_of<float>(text), 0.0F) << text;
    EXPECT_EQ(value_of<double>(text), 0.0) << text;
  }
  EXPECT_EQ(reading_of<float>("3.5e38"), Reading::kTooLarge);
  EXPECT_EQ(value_of<float>("1e-46"), 0.0F);
  EXPECT_EQ(value_of<double>("3.5e38"), 3.5e38);
}

TEST(Number, EveryFloatIsReadBackBitForBit) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    char text[32];
    const char* end = std::to_chars(text, text + sizeof text, value).ptr;
    const std::string_view written(text, static_cast<std::size_t>(end - text));
    EXPECT_EQ(std::bit_cast<uint32_t>(value_of<float>(written)), std::bit_cast<uint32_t>(value)) << written;
  }
}

/// What std::from_chars says, in the words of plain_number().
const char* by_from_chars(const std::string& text, float& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && std::isfinite(value) ? stop : nullptr;
}

void expect_as_from_chars(const std::string& text) {
  float actual = 7, expected = 7;
  const char* const stop = primal::base::plain_number(text.data(), text.data() + text.size(), actual);
  ASSERT_EQ(stop, by_from_chars(text, expected)) << text;
  if (stop == nullptr) return;
  ASSERT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected)) << text;
  primal::base::SplitNumber split;
  ASSERT_EQ(primal::base::plain_number(text.data(), text.data() + text.size(), split), stop) << text;
  ASSERT_EQ(std::bit_cast<uint32_t>(split.value), std::bit_cast<uint32_t>(expected)) << text;
  double exact = 0;
  std::from_chars(text.data(), stop, exact);
  ASSERT_EQ(split.remainder, static_cast<float>(exact - split.value)) << text;
}

TEST(Number, ThePlainPathAgreesWithFromCharsBitForBit) {
  for (const char* text :
       {"", "-", ".", "-.", "-0", "0", "00012", ".5", "5.", "-5.,", "1.2.3", "1e5", "1.5E-3", "1e", "16777216",
        "16777217", "1677721.7", "0.0000000001", "0.00000000001", "--1", "+1", "1-2",
        // Near the middle between two floats, where rounding twice goes wrong.
        "1.00000005960464477539062500001", "1.00000005960464477539062499999", "16777217.0000000001"}) {
    expect_as_from_chars(text);
  }
  std::mt19937 random(8);
  for (int i = 0; i < 200'000; ++i) {
    std::string text = random() % 2 == 0 ? "-" : "";
    for (auto digits = random() % 6; digits > 0; --digits) text += static_cast<char>('0' + random() % 10);
    if (random() % 8 != 0) text += '.';
    for (auto digits = random() % 9; digits > 0; --digits) text += static_cast<char>('0' + random() % 10);
    text += ",:ex 1"[random() % 6];
    expect_as_from_chars(text);
  }
}

}  // namespace
