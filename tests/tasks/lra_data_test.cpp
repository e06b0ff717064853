// Parts of the Long Range Arena's tasks, by protocol, and what a run writes down of them.
#include "tasks/lra/lra_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/errors.h"
#include "support/lra_files.h"
#include "support/token_sets.h"

namespace primal::tasks {
namespace {

using tests::contains;
using tests::error_of;
using tests::examples_by_class;
using tests::texts_of;

class LraDataTest : public tests::LraFolderTest {
 protected:
  TokenParts parts_of(const std::string& task) {
    config.data.task = task;
    return load_lra(config, {.search = search()});
  }
};

std::vector<uint8_t> first_tokens(const data::TokenSet& set) {
  std::vector<uint8_t> tokens;
  for (int64_t i = 0; i < set.examples(); ++i) tokens.push_back(set.sequence(i)[0]);
  return tokens;
}

TEST_F(LraDataTest, ListOpsComesWithItsValidationPart) {
  write_listops();
  TokenParts parts = parts_of("listops");
  hold_out(parts, 0.5, 1);
  EXPECT_EQ(parts.train.examples(), 20) << "nothing is held out besides";
  EXPECT_EQ(parts.validation.examples(), 6);
  EXPECT_EQ(parts.test.examples(), 7);
  EXPECT_EQ(parts.train.classes.size(), 10u);
}

TEST_F(LraDataTest, PairsHaveTwoSequences) {
  write_pairs();
  const TokenParts parts = parts_of("retrieval");
  EXPECT_EQ(parts.train.per_example, 2);
  EXPECT_EQ(tests::text_of(parts.validation, 1, 0), "ffffff");
  EXPECT_EQ(tests::text_of(parts.validation, 1, 1), "ffff1");
  EXPECT_EQ(parts.validation.labels, (std::vector<uint8_t>{0, 1, 0, 1}));
  EXPECT_EQ(parts.test.examples(), 5);
}

TEST_F(LraDataTest, TheLastTenthOfThePicturesValidates) {
  write_pictures();
  const TokenParts parts = parts_of("image");
  EXPECT_EQ(parts.train.examples(), 18);
  EXPECT_EQ(first_tokens(parts.train).back(), 18);
  EXPECT_EQ(first_tokens(parts.validation), (std::vector<uint8_t>{19, 20}));
  EXPECT_EQ(first_tokens(parts.test), (std::vector<uint8_t>{101, 102, 103}));
  EXPECT_EQ(parts.train.length(0), 1024);
}

TEST_F(LraDataTest, TextHoldsTheSameShareOfEachClassOut) {
  write_text();
  TokenParts parts = parts_of("text");
  EXPECT_EQ(parts.validation.examples(), 0);
  const std::vector<std::string> whole = texts_of(parts.train);
  hold_out(parts, 0.2, 1);
  EXPECT_EQ(examples_by_class(parts.validation), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(examples_by_class(parts.train), (std::vector<int64_t>{16, 8}));
  std::vector<std::string> both = texts_of(parts.train), held = texts_of(parts.validation), order;
  for (const std::string& text : whole) {
    if (std::ranges::count(both, text) == 1) order.push_back(text);
  }
  EXPECT_EQ(texts_of(parts.train), order) << "in the order of the file";
  both.insert(both.end(), held.begin(), held.end());
  EXPECT_TRUE(std::ranges::is_permutation(both, whole)) << "each is in one part";
}

TEST_F(LraDataTest, WhichTextsAreHeldOutIsAMatterOfTheSeed) {
  write_text();
  const TokenParts whole = parts_of("text");
  const auto held_out = [&](uint64_t seed) {
    TokenParts parts = whole;
    hold_out(parts, 0.2, seed);
    return texts_of(parts.validation);
  };
  EXPECT_EQ(held_out(1), held_out(1));
  EXPECT_NE(held_out(1), held_out(2));
}

// Else a run would find out at its first evaluation.
TEST_F(LraDataTest, AShareThatHoldsNothingOutIsRefused) {
  write_text();
  TokenParts parts = parts_of("text");
  EXPECT_EQ(error_of([&] { hold_out(parts, 0.04, 1); }),
            "data.validation: expected a share that holds at least one of 30 training examples out, got 0.04");
  hold_out(parts, 0.05, 1);
  EXPECT_EQ(parts.validation.examples(), 1);
}

TEST_F(LraDataTest, TheArchiveOfReviewsIsReadAsWell) {
  for (const char* part : {"train", "test"}) {
    write(std::string("aclImdb/") + part + "/pos/0_9.txt", "good");
    write(std::string("aclImdb/") + part + "/neg/0_2.txt", "bad");
  }
  const TokenParts parts = parts_of("text");
  EXPECT_EQ(texts_of(parts.train), (std::vector<std::string>{"bad", "good"}));
  EXPECT_EQ(texts_of(parts.test), (std::vector<std::string>{"bad", "good"}));
}

TEST_F(LraDataTest, SequencesAreCutAsTheTaskHasItOrAsAskedFor) {
  write_text();
  EXPECT_EQ(tokens_of(config), 2000);
  config.data.task = "text";
  EXPECT_EQ(tokens_of(config), 4000);
  config.data.tokens = 6;
  EXPECT_EQ(tokens_of(config), 6);
  for (const std::string& text : texts_of(parts_of("text").test)) EXPECT_EQ(text, "review");
}

TEST_F(LraDataTest, FactsComeBackFromTheirFile) {
  write_pairs();
  const LraFacts facts = facts_of(config, parts_of("retrieval"));
  const LraFacts again = read_lra_facts(write("data.json", to_json(facts).dump()));
  EXPECT_EQ(again.name, "lra/retrieval");
  EXPECT_EQ(again.tokens, 4000);
  EXPECT_EQ(again.classes, (std::vector<std::string>{"unrelated", "related"}));
  EXPECT_EQ(again.per_example, 2);
  EXPECT_EQ(again.fingerprint, facts.fingerprint);
  EXPECT_EQ(again.test_fingerprint, facts.test_fingerprint);
  EXPECT_TRUE(contains(error_of([&] { read_lra_facts(write("other.json", "{\"name\": \"lra/text\"}")); }),
                       (folder / "other.json").string()));
}

// A model that was chosen by other examples, or trained on them, has another score.
TEST_F(LraDataTest, FingerprintsTellWhichPartHasChanged) {
  write_listops();
  const LraFacts before = facts_of(config, parts_of("listops"));
  const auto changed = [&](const std::string& part) {
    write_listops();
    write("lra/listops/basic_" + part + ".tsv", tests::listops_file(12, 3));
    const LraFacts now = facts_of(config, parts_of("listops"));
    return std::pair(now.fingerprint != before.fingerprint, now.test_fingerprint != before.test_fingerprint);
  };
  EXPECT_EQ(changed("train"), std::pair(true, false));
  EXPECT_EQ(changed("val"), std::pair(true, false));
  EXPECT_EQ(changed("test"), std::pair(false, true));
}

TEST_F(LraDataTest, TheNearestFolderWins) {
  write_text();
  write("own/imdb/imdb_train.tsv", "pos\t9\t1\tmine\n");
  write("own/imdb/imdb_test.tsv", "pos\t9\t1\tmine too\n");
  config.data.task = "text";
  const TokenParts parts = load_lra(config, {.search = {{folder / "own", folder}}});
  EXPECT_EQ(texts_of(parts.train), (std::vector<std::string>{"mine"}));
}

TEST_F(LraDataTest, MissingDataSayWhereTheyWereLookedForAndHowToGetThem) {
  const std::string none = (folder / "none").string();
  const auto message = [&](const std::string& task) {
    config.data.task = task;
    return error_of([&] { load_lra(config, {.search = {{folder, none}}}); });
  };
  for (const LraSource& source : lra_sources()) {
    SCOPED_TRACE(source.name);
    const std::string text = message(source.name);
    EXPECT_TRUE(text.starts_with("data of lra/" + source.name + ": expected DIR/"));
    EXPECT_TRUE(contains(text, "got none for DIR = " + folder.string() + ", " + none + " (not there); "));
    EXPECT_TRUE(contains(text, source.advice + ", or set PRIMAL_DATA"));
    EXPECT_EQ(std::ranges::count(text, '\n'), 0);
  }
  EXPECT_TRUE(contains(message("listops"), "DIR/lra/listops/basic_train.tsv or DIR/listops/basic_train.tsv"));
  EXPECT_TRUE(contains(message("listops"), "primal data make lra/listops makes it"));
}

TEST_F(LraDataTest, APartThatIsMissingOrDamagedIsNamed) {
  write_listops();
  std::filesystem::remove(folder / "lra/listops/basic_val.tsv");
  EXPECT_TRUE(contains(error_of([&] { parts_of("listops"); }), (folder / "lra/listops/basic_val.tsv").string()));
  write("lra/listops/basic_val.tsv", "Source\tTarget\n[MAX 1 2 ]\tten\n");
  EXPECT_EQ(error_of([&] { parts_of("listops"); }),
            (folder / "lra/listops/basic_val.tsv").string() + ":2: expected a label from 0 to 9, got \"ten\"");
}

TEST_F(LraDataTest, UnknownTasksAreRefusedWithTheKnownOnes) {
  const std::string message = error_of([&] { lra_source("list"); });
  EXPECT_TRUE(message.starts_with("data.task: expected one of listops, text, retrieval, retrieval-wikitext, image"));
  EXPECT_TRUE(message.ends_with(", got \"list\""));
}

}  // namespace
}  // namespace primal::tasks
