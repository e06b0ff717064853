#include "base/base64.h"

#include <gtest/gtest.h>

namespace primal::base {
namespace {

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// RFC 4648, section 10.
TEST(Base64, GivesTheValuesOfTheStandard) {
  for (const auto& [text, expected] : {std::pair{"", ""},
                                       {"f", "Zg=="},
                                       {"fo", "Zm8="},
                                       {"foo", "Zm9v"},
                                       {"foob", "Zm9vYg=="},
                                       {"fooba", "Zm9vYmE="},
                                       {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(base64_of(bytes_of(text)), expected);
    EXPECT_EQ(bytes_of_base64(expected), bytes_of(text));
  }
}

TEST(Base64, EveryByteComesBack) {
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<std::uint8_t>(255 - i));
  EXPECT_EQ(bytes_of_base64(base64_of(bytes)), bytes);
}

TEST(Base64, WhatIsNoneIsRefused) {
  for (const char* text : {"Zg", "Zg=", "Z===", "====", "Zm9v=", "Zg==Zg==", "Zm 9", "Zm9-", "Zh==", "A"}) {
    EXPECT_EQ(bytes_of_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace primal::base
