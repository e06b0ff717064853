#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace {

using primal::base::is_utf8;
using primal::base::unfinished_utf8;
using primal::base::utf8_size;

TEST(Utf8, CharactersOfEveryLength) {
  for (const std::string text : {"", "a", "\u00e9", "\u20ac", "\U0001F600", "\u0080", "\u0800", "\U00010000", "\ud7ff",
                                 "\ue000", "\U0010FFFF", "eight letters and more \u20ac eight letters"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(utf8_size(text), text.size());
    EXPECT_EQ(unfinished_utf8(text), 0U) << text;
  }
}

TEST(Utf8, WhatNoCharacterIs) {
  for (const std::string bad :
       {"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff", "\xc3(", "\xe2\x82(", "\xf0\x9f\x98("}) {
    EXPECT_EQ(utf8_size(bad), 0U) << testing::PrintToString(bad);
    EXPECT_EQ(utf8_size("exactly8" + bad), 8U);
    EXPECT_EQ(utf8_size("seven ." + bad + "more text"), 7U);
  }
}

TEST(Utf8, ACharacterThatTheTextEndsIn) {
  const std::string whole = "ab\U0001F600";
  for (std::size_t missing = 1; missing <= 3; ++missing) {
    const std::string cut = whole.substr(0, whole.size() - missing);
    EXPECT_EQ(unfinished_utf8(cut), 4 - missing);
    EXPECT_EQ(utf8_size(cut), 2U);
  }
  EXPECT_EQ(unfinished_utf8("a\xc3"), 1U);
  EXPECT_EQ(unfinished_utf8("a\x80"), 0U);      // continues nothing
  EXPECT_EQ(unfinished_utf8("a\xed\xa0"), 0U);  // no byte would make a surrogate a character
  EXPECT_EQ(unfinished_utf8("\x80\x80\x80\x80"), 0U);
}

}  // namespace
