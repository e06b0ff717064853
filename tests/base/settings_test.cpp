#include "base/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

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
    settings.add("model.rank", &rank, "rank", at_least(1));
    settings.add("loss.eta", &eta, "weight", share());
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

TEST_F(SettingsTest, AStretchIsSaidInStepsOrEpochs) {
  Span length = epochs(3);
  settings.add("train.length", SpanField{&length, SpanUnit::epochs}, "of the run", at_least(1));
  settings.add_old("train.epochs", OldCount{&length, SpanUnit::epochs});
  settings.set("train.length", "5000 steps", "--set");
  EXPECT_EQ(length, steps(5000));
  settings.set("train.length", "1 epoch", "--set");
  EXPECT_EQ(length, epochs(1));
  settings.set("train.length", "7", "--set");
  EXPECT_EQ(length, epochs(7)) << "a bare number";
  settings.read_file(write("a.toml", "[train]\nlength = \"20 steps\"\n"));
  EXPECT_EQ(length, steps(20));
  const std::string text = settings.toml();
  EXPECT_TRUE(contains(text, "length = \"20 steps\""));
  EXPECT_EQ(error_of([&] { settings.set("train.length", "20 hours", "--set"); }),
            "--set: train.length: expected a length such as \"5000 steps\" or \"100 epochs\", got \"20 hours\"");
}

TEST_F(SettingsTest, AnOldNameIsReadAndNotWritten) {
  Span length = epochs(3);
  settings.add("train.length", SpanField{&length, SpanUnit::epochs}, "of the run", at_least(1));
  settings.add_old("train.epochs", OldCount{&length, SpanUnit::epochs});
  settings.read_file(write("a.toml", "[train]\nepochs = 9\n"));
  EXPECT_EQ(length, epochs(9));
  EXPECT_FALSE(contains(settings.toml(), "epochs = 9"));
  EXPECT_FALSE(contains(settings.listing(), "train.epochs"));
  ::setenv("PRIMAL_TRAIN_EPOCHS", "4", 1);
  settings.read_environment();
  ::unsetenv("PRIMAL_TRAIN_EPOCHS");
  EXPECT_EQ(length, epochs(4));
  EXPECT_EQ(error_of([&] { settings.set("train.epochs", "5 steps", "--set"); }),
            "--set: train.epochs: expected a whole number, got \"5 steps\"");
}

TEST_F(SettingsTest, OneNumberOrAListOfThem) {
  std::vector<int64_t> ranks = {30};
  settings.add("model.ranks", &ranks, "of layers", from_to(1, 100));
  EXPECT_TRUE(contains(settings.toml(), "ranks = 30\n"));
  settings.set("model.ranks", "12,7", "--set");
  EXPECT_EQ(ranks, (std::vector<int64_t>{12, 7}));
  const std::string text = settings.toml();
  EXPECT_TRUE(contains(text, "ranks = [12, 7]\n")) << text;
  settings.read_file(write("a.toml", "[model]\nranks = 5\n"));
  EXPECT_EQ(ranks, (std::vector<int64_t>{5}));
  settings.read_file(write("b.toml", "[model]\nranks = [3, 4, 5]\n"));
  EXPECT_EQ(ranks, (std::vector<int64_t>{3, 4, 5}));
  const auto refused = [&](const std::string& value) {
    return error_of([&] { settings.set("model.ranks", value, "--set"); });
  };
  EXPECT_EQ(refused("1,x"), "--set: model.ranks: expected a whole number or a list of them, got \"1,x\"");
  EXPECT_EQ(refused("1.5"), "--set: model.ranks: expected a whole number or a list of them, got \"1.5\"");
  EXPECT_EQ(refused("12,"), "--set: model.ranks: expected a whole number or a list of them, got \"12,\"");
  for (const char* bad : {"[]", "[1, \"two\"]", "2.5"}) {
    const auto file = write("c.toml", std::string("[model]\nranks = ") + bad + "\n");
    EXPECT_TRUE(contains(error_of([&] { settings.read_file(file); }), "c.toml:2: model.ranks: expected a whole number"))
        << bad;
  }
  EXPECT_EQ(ranks, (std::vector<int64_t>{3, 4, 5}));
  settings.set("model.ranks", "3,101", "--set");
  EXPECT_EQ(error_of([&] { settings.check(); }), "model.ranks: expected at most 100, got 101");
}

TEST_F(SettingsTest, AWordOrNumbers) {
  std::string word = "none";
  std::vector<double> numbers;
  settings.add("loss.weights", WordOrNumbers{{"none", "balanced"}, &word, &numbers}, "of classes");
  settings.set("loss.weights", "1,2.5", "--set");
  EXPECT_TRUE(word.empty());
  EXPECT_EQ(numbers, (std::vector<double>{1, 2.5}));
  const std::string text = settings.toml();
  EXPECT_TRUE(contains(text, "weights = [1.0, 2.5]")) << text;
  settings.set("loss.weights", "balanced", "--set");
  EXPECT_TRUE(numbers.empty());
  settings.read_file(write("a.toml", text));
  EXPECT_EQ(numbers, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(error_of([&] { settings.set("loss.weights", "heavy", "--set"); }),
            "--set: loss.weights: expected none, balanced or a list of numbers, got \"heavy\"");
  for (const char* bad : {"[]", "[\"a\"]", "3", "[1, inf]"}) {
    const auto file = write("b.toml", std::string("[loss]\nweights = ") + bad + "\n");
    EXPECT_TRUE(contains(error_of([&] { settings.read_file(file); }), ":2: loss.weights: expected")) << bad;
  }
}

TEST_F(SettingsTest, PeekLooksThroughTheBases) {
  write("base.toml", "[run]\nfamily = \"time_series\"\n");
  const auto file = write("a.toml", "base = \"base.toml\"\n[model]\nrank = 3\n");
  EXPECT_EQ(Settings::peek(file, "run.family"), "time_series");
  EXPECT_EQ(Settings::peek(file, "run.none"), std::nullopt);
  EXPECT_EQ(Settings::peek(write("b.toml", "base = \"b.toml\"\n"), "run.family"), std::nullopt) << "no end";
}

TEST_F(SettingsTest, ANumberOutOfItsRangeIsNamed) {
  settings.check();
  rank = 0;
  EXPECT_EQ(error_of([&] { settings.check(); }), "model.rank: expected at least 1, got 0");
  rank = 1;
  eta = 1;
  EXPECT_EQ(error_of([&] { settings.check(); }), "loss.eta: expected less than 1, got 1");
  eta = -0.5;
  EXPECT_EQ(error_of([&] { settings.check(); }), "loss.eta: expected at least 0, got -0.5");
  eta = 0;
  double factor = 0;
  int64_t count = 2'000'000'000;
  settings.add("loss.factor", &factor, "", more_than(0));
  EXPECT_EQ(error_of([&] { settings.check(); }), "loss.factor: expected more than 0, got 0");
  factor = 1;
  settings.add("train.batch", &count, "", count_from(1));
  EXPECT_EQ(error_of([&] { settings.check(); }), "train.batch: expected at most 1000000000, got 2000000000");
}

TEST_F(SettingsTest, AStretchHasALongestLength) {
  Span length = epochs(0);
  settings.add("train.length", SpanField{&length, SpanUnit::epochs}, "of the run", at_least(1));
  EXPECT_EQ(error_of([&] { settings.check(); }), "train.length: expected at least 1 epoch, got 0 epochs");
  length = steps(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(error_of([&] { settings.check(); }),
            "train.length: expected at most 1000000000 steps, got 9223372036854775807 steps");
}

}  // namespace
}  // namespace primal::base
