#include "data/text/byte_coder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "data/text/coder_from_json.h"
#include "support/errors.h"

namespace {

using primal::data::ByteCoder;
using primal::data::coder_from_json;
using primal::data::TextCoder;
using primal::data::TextDecoder;
using primal::tests::error_of;

using Ids = std::vector<int32_t>;

Ids encoded(const TextCoder& coder, std::string_view text) {
  Ids ids;
  coder.encode(text, "text", ids);
  return ids;
}

TEST(ByteCoder, IdsAreTheBytes) {
  const ByteCoder coder;
  EXPECT_EQ(encoded(coder, std::string_view("a\n\0\xff", 4)), (Ids{97, 10, 0, 255}));
  EXPECT_EQ(coder.size(), 257);
  EXPECT_EQ(coder.end(), 256);
  EXPECT_FALSE(coder.ends_lines());
  EXPECT_FALSE(coder.padding());
  EXPECT_FALSE(coder.unknown());
}

TEST(ByteCoder, AnyBytesComeBack) {
  std::mt19937 random(1);
  const ByteCoder coder;
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::string text(random() % 300, ' ');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_EQ(coder.decode(encoded(coder, text)), text);
  }
  EXPECT_EQ(coder.decode(Ids{97, ByteCoder::kEnd, 98}), "ab");
}

TEST(ByteCoder, IsMadeAgainFromItsJson) {
  const auto again = coder_from_json(ByteCoder().to_json(), "data.json");
  EXPECT_EQ(again->unit(), "bytes");
  EXPECT_EQ(again->fingerprint(), ByteCoder().fingerprint());
  EXPECT_EQ(error_of([] {
              coder_from_json({{"unit", "letters"}}, "data.json");
            }),
            "data.json: field \"unit\": expected words, bytes or subwords, got \"letters\"");
  EXPECT_EQ(error_of([] { coder_from_json(nlohmann::json::object(), "data.json"); }),
            "data.json: field \"unit\": is missing");
  EXPECT_EQ(error_of([] { coder_from_json(nlohmann::json::array(), "data.json"); }),
            "data.json: expected an object that says how text is encoded");
}

TEST(TextDecoder, NeverGivesHalfACharacter) {
  const std::string text = "a\u00e9\u20ac\U0001F600.";
  const ByteCoder coder;
  TextDecoder decoder(coder);
  std::vector<std::string> given;
  for (const int32_t id : encoded(coder, text)) given.push_back(decoder.add(id));
  EXPECT_EQ(given, (std::vector<std::string>{"a", "", "\u00e9", "", "", "\u20ac", "", "", "", "\U0001F600", "."}));
  EXPECT_EQ(decoder.finish(), "");
}

TEST(TextDecoder, WhatIsNoCharacterIsReplaced) {
  const ByteCoder coder;
  TextDecoder decoder(coder);
  EXPECT_EQ(decoder.add(0xff), "\uFFFD");
  EXPECT_EQ(decoder.add(0xe2), "");
  EXPECT_EQ(decoder.add('x'), "\uFFFDx");
  EXPECT_EQ(decoder.add(0xc3), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
}

}  // namespace
