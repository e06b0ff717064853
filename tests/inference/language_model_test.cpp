#include "primal/language_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/text/byte_coder.h"
#include "data/text/word_coder.h"
#include "models/language_options_json.h"
#include "models/small_language_model.h"
#include "support/errors.h"
#include "support/files.h"
#include "train/checkpoint.h"

namespace primal {
namespace {

using tests::contains;
using tests::error_of;

constexpr const char* kPrompt = "the cat sat";

/// A run directory with what a program that embeds the model needs of it.
class TrainedLanguageModel : public tests::FolderTest {
 protected:
  std::filesystem::path run_of(models::LanguageModel model, const data::TextCoder& coder, const std::string& name) {
    const std::filesystem::path run = folder / name;
    train::save_checkpoint(run, "best", {models::tensors_of(*model), {}, "{}"});
    const nlohmann::json facts = {{"coder", coder.to_json()}, {"model", models::to_json(model->options())}};
    write(run / "data.json", facts.dump());
    return run;
  }
  std::filesystem::path byte_run(std::vector<std::string> kinds = {"primal", "primal"},
                                 const std::string& name = "run") {
    const tests::SmallLanguage small{
        .kinds = std::move(kinds), .memory = Memory::decay, .kernel = 3, .vocabulary = data::ByteCoder::kEnd + 1};
    return run_of(tests::small_language_model(small), data::ByteCoder(), name);
  }
  LanguageModel byte_model() { return LanguageModel::load(byte_run()); }
};

TEST_F(TrainedLanguageModel, SaysWhatItIs) {
  const LanguageModel model = byte_model();
  EXPECT_EQ(model.unit(), "bytes");
  EXPECT_EQ(model.vocabulary_size(), 257);
  EXPECT_EQ(model.tokens("ab"), (std::vector<int64_t>{'a', 'b'}));
}

TEST_F(TrainedLanguageModel, WritesTheSameWholeInPiecesAndAsAStream) {
  const LanguageModel model = byte_model();
  const GenerateOptions options{.tokens = 40, .temperature = 0.7, .top_k = 50, .seed = 5};
  const std::string text = model.generate(kPrompt, options);
  EXPECT_FALSE(text.empty());
  std::string pieces;
  EXPECT_EQ(model.generate(kPrompt, options, [&](std::string_view piece) { return pieces += piece, true; }), text);
  EXPECT_EQ(pieces, text);
  TextStream stream = model.stream(kPrompt, options);
  std::string streamed;
  while (const auto piece = stream.next()) streamed += *piece;
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(model.samples(kPrompt, 1, options), std::vector{text});
  EXPECT_NE(model.generate(kPrompt, {.tokens = 40, .seed = 6}), text);
}

TEST_F(TrainedLanguageModel, StopsWhenItIsTold) {
  const LanguageModel model = byte_model();
  int64_t pieces = 0;
  model.generate(kPrompt, {.tokens = 40}, [&](std::string_view) { return ++pieces < 3; });
  EXPECT_EQ(pieces, 3);
}

TEST_F(TrainedLanguageModel, GoesOnFromASavedStreamBitForBit) {
  for (const std::vector<std::string>& kinds : {std::vector<std::string>{"primal", "primal"}, {"softmax", "primal"}}) {
    const LanguageModel model = LanguageModel::load(byte_run(kinds, kinds.front()));
    const GenerateOptions options{.tokens = 30, .repetition = 1.3, .seed = 2};
    TextStream whole = model.stream(kPrompt, options);
    for (int i = 0; i < 5; ++i) whole.next();
    whole.save(folder / "state");
    TextStream later = model.stream("", options);
    later.load(folder / "state");
    EXPECT_EQ(later.tokens(), whole.tokens());
    for (int i = 0; i < 12; ++i) EXPECT_EQ(later.next(), whole.next()) << kinds.front();
  }
}

TEST_F(TrainedLanguageModel, AStateOfOtherWeightsIsRefusedAndTheStreamGoesOn) {
  const LanguageModel model = byte_model(), other = LanguageModel::load(byte_run({"softmax", "primal"}, "other"));
  other.stream(kPrompt).save(folder / "state");
  TextStream stream = model.stream(kPrompt, {.tokens = 5}), same = model.stream(kPrompt, {.tokens = 5});
  EXPECT_TRUE(contains(error_of([&] { stream.load(folder / "state"); }), "state: is the state of another model"));
  EXPECT_EQ(stream.next(), same.next());
}

TEST_F(TrainedLanguageModel, AnAllPrimalStateDoesNotGrow) {
  const LanguageModel model = byte_model();
  const int64_t before = model.stream("a").state_bytes();
  EXPECT_EQ(model.stream(std::string(500, 'a')).state_bytes(), before);
}

TEST_F(TrainedLanguageModel, OutlivedByItsStreams) {
  TextStream stream = byte_model().stream(kPrompt, {.tokens = 3});
  EXPECT_TRUE(stream.next().has_value());
}

TEST_F(TrainedLanguageModel, ReadingOnIsReadingAtOnce) {
  const LanguageModel model = byte_model();
  const GenerateOptions options{.tokens = 10, .temperature = 0};
  TextStream stream = model.stream("the cat", options);
  stream.read(" sat");
  stream.read("");
  EXPECT_EQ(stream.next(), model.stream(kPrompt, options).next());
}

TEST_F(TrainedLanguageModel, PerplexityIsOfTheScores) {
  const LanguageModel model = byte_model();
  const std::string text(100, 'b');  // longer than a block of the model
  const std::vector<TokenScore> scores = model.score(text);
  ASSERT_EQ(scores.size(), text.size());
  double sum = 0;
  std::string back;
  for (const TokenScore& score : scores) {
    sum += score.surprise;
    back += score.text;
  }
  EXPECT_EQ(back, text);
  EXPECT_NEAR(model.perplexity(text), std::exp(sum / 100), 1e-9);
  EXPECT_EQ(error_of([&] { (void)model.perplexity(""); }), "perplexity: expected text, got none");
}

TEST_F(TrainedLanguageModel, RefusesWhatItCannotRead) {
  const LanguageModel model = byte_model();
  EXPECT_TRUE(contains(error_of([&] { model.generate("\xff", {}); }), "text:1"));
  EXPECT_EQ(error_of([&] { model.generate("a", {.tokens = -1}); }), "generate: expected 0 tokens or more, got -1");
  EXPECT_EQ(error_of([&] { model.samples("a", 0); }), "generate: expected at least 1 sample, got 0");
  EXPECT_EQ(error_of([&] { model.generate("a", {.stops = {""}}); }),
            "generate: expected texts to stop at, got an empty one");
}

TEST_F(TrainedLanguageModel, OfWordsKnowsItsVocabulary) {
  const data::WordCoder coder({"the", "cat"}, 2, "test");
  const auto run = run_of(tests::small_language_model({.padding = 1, .vocabulary = coder.size()}), coder, "words");
  const LanguageModel model = LanguageModel::load(run);
  EXPECT_TRUE(contains(error_of([&] { model.generate("the dog", {}); }), "dog"));
  EXPECT_NO_THROW(model.generate("the dog", {.tokens = 3, .unknown_words = true}));
}

TEST_F(TrainedLanguageModel, ARunThatIsNoneSaysSo) {
  EXPECT_TRUE(contains(error_of([&] { LanguageModel::load(folder / "nowhere"); }), "nowhere: no run here"));
  const auto run = byte_run();
  write(run / "data.json", R"({"classes": ["a"]})");
  EXPECT_TRUE(contains(error_of([&] { LanguageModel::load(run); }), "expected a run of the family language"));
  const auto damaged = byte_run({"primal"}, "damaged");
  write(damaged / "best" / "model.safetensors", "x");
  EXPECT_TRUE(contains(error_of([&] { LanguageModel::load(damaged); }), "model.safetensors: is damaged"));
}

}  // namespace
}  // namespace primal
