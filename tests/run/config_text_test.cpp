// The configuration as text: settings found, never refused.
#include "run/config_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using primal::run::parse_config;

TEST(ConfigText, FindsKeysOfSections) {
  const auto config = parse_config(
      "seed = 1 # of all\n[model]\nname = \"a # b = c\"\nlayers = [\n  \"primal\",\n  \"softmax\"]\n[loss]\r\neta = "
      "0.5\r\n");
  EXPECT_EQ(config.find("seed"), "1");
  EXPECT_EQ(config.find("model.name"), "\"a # b = c\"");
  EXPECT_EQ(config.find_text("model.name"), "a # b = c");
  EXPECT_EQ(config.find("model.layers"), "[ \"primal\", \"softmax\"]");
  EXPECT_EQ(config.number("loss.eta"), 0.5);
  EXPECT_TRUE(std::isnan(config.number("model.name")));
  EXPECT_TRUE(std::isnan(config.number("loss.none")));
  EXPECT_FALSE(config.find("eta"));
}

TEST(ConfigText, TakesAnything) {
  for (const char* text : {"", "\n", "=", "[", "[]", "\"", "a", "# only", "[a\nb=\"\\\""}) parse_config(text);
}

}  // namespace
