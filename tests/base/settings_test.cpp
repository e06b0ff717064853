#include "base/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/errors.h"
#include "support/files.h"

namespace primal::base {
namespace {

using tests::contains;
using tests::error_of;

enum class Colour { red, green };

class SettingsTest : public tests::FolderTest {
 protected:
  SettingsTest() {
    settings.add("model.rank", &rank, "rank");
    settings.add("loss.eta", &eta, "weight");
    settings.add("model.bias", &bias, "bias");
    settings.add("data.set", &set, "set");
    settings.add("model.layers", &layers, "layers", {"primal", "softmax"});
    settings.add("model.colour", choice(colour, {{"red", Colour::red}, {"green", Colour::green}}), "colour");
  }

  int64_t rank = 30;
  double eta = 0.1;
  bool bias = true;
  std::string set = "A";
  std::vector<std::string> layers = {"primal"};
  Colour colour = Colour::red;
  Settings settings;
};

TEST_F(SettingsTest, ReadsEveryKindFromToml) {
  settings.read_file(write("a.toml",
                           "[model]\nrank = 20\nbias = false\nlayers = [\"softmax\", \"primal\"]\ncolour = \"green\"\n"
                           "[loss]\neta = 1\n[data]\nset = \"B \\\"x\\\"\"\n"));
  EXPECT_EQ(rank, 20);
  EXPECT_EQ(eta, 1.0);
  EXPECT_FALSE(bias);
  EXPECT_EQ(set, "B \"x\"");
  EXPECT_EQ(layers, (std::vector<std::string>{"softmax", "primal"}));
  EXPECT_EQ(colour, Colour::green);
}

TEST_F(SettingsTest, WhatIsWrittenReadsBackTheSame) {
  settings.set("model.rank", "7", "--set");
  settings.set("loss.eta", "0.30000000000000004", "--set");
  settings.set("data.set", "quote \" backslash \\ tab \t", "--set");
  settings.set("model.layers", "softmax,primal", "--set");
  settings.set("model.colour", "green", "--set");
  const std::string text = settings.toml();
  rank = 0, eta = 0, set = "", layers = {}, colour = Colour::red;
  settings.read_file(write("a.toml", text));
  EXPECT_EQ(settings.toml(), text);
  EXPECT_EQ(eta, 0.30000000000000004);
  EXPECT_EQ(set, "quote \" backslash \\ tab \t");
}

TEST_F(SettingsTest, ABaseIsReadFirst) {
  write("base.toml", "[model]\nrank = 1\n[loss]\neta = 2.0\n");
  settings.read_file(write("a.toml", "base = \"base.toml\"\n[model]\nrank = 3\n"));
  EXPECT_EQ(rank, 3);
  EXPECT_EQ(eta, 2.0);
}

TEST_F(SettingsTest, ABaseThatNamesItselfIsAnError) {
  const auto file = write("a.toml", "base = \"a.toml\"\n");
  EXPECT_TRUE(contains(error_of([&] { settings.read_file(file); }), "the chain of base files does not end"));
}

TEST_F(SettingsTest, AnUnknownKeyNamesFileLineAndTheNearest) {
  const auto file = write("a.toml", "[model]\nrnak = 3\n");
  EXPECT_EQ(error_of([&] { settings.read_file(file); }),
            file.string() + ":2: unknown key model.rnak; did you mean model.rank?");
  EXPECT_EQ(error_of([&] { settings.set("los.eta", "1", "--set"); }),
            "--set: unknown key los.eta; did you mean loss.eta?");
}

TEST_F(SettingsTest, AValueOfAnotherKindNamesBoth) {
  const auto file = write("a.toml", "\n[model]\nrank = \"many\"\n");
  EXPECT_EQ(error_of([&] { settings.read_file(file); }),
            file.string() + ":3: model.rank: expected a whole number, got 'many'");
  EXPECT_EQ(error_of([&] { settings.set("model.rank", "2.5", "--set"); }),
            "--set: model.rank: expected a whole number, got \"2.5\"");
  EXPECT_EQ(error_of([&] { settings.set("loss.eta", "nan", "--set"); }),
            "--set: loss.eta: expected a number, got \"nan\"");
  EXPECT_EQ(error_of([&] { settings.set("model.bias", "yes", "--set"); }),
            "--set: model.bias: expected true or false, got \"yes\"");
  EXPECT_EQ(error_of([&] { settings.set("model.colour", "blue", "--set"); }),
            "--set: model.colour: expected one of red, green, got \"blue\"");
  EXPECT_EQ(error_of([&] { settings.set("model.layers", "primal,linear", "--set"); }),
            "--set: model.layers: expected a list of primal, softmax, got \"linear\"");
}

TEST_F(SettingsTest, BadTomlNamesFileAndLine) {
  const auto file = write("a.toml", "[model]\nrank = = 3\n");
  EXPECT_TRUE(error_of([&] { settings.read_file(file); }).starts_with(file.string() + ":2: "));
  EXPECT_TRUE(contains(error_of([&] { settings.read_file(folder / "none.toml"); }), "none.toml"));
}

TEST_F(SettingsTest, TheEnvironmentSetsByUpperCaseName) {
  setenv("PRIMAL_MODEL_RANK", "12", 1);
  settings.read_environment();
  EXPECT_EQ(rank, 12);
  setenv("PRIMAL_MODEL_RANK", "twelve", 1);
  EXPECT_EQ(error_of([&] { settings.read_environment(); }),
            "PRIMAL_MODEL_RANK: model.rank: expected a whole number, got \"twelve\"");
  unsetenv("PRIMAL_MODEL_RANK");
}

}  // namespace
}  // namespace primal::base
