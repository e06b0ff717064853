#include "data/tokens/listops_maker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "data/tokens/listops_reader.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

using primal::data::ListOpsRequest;
using primal::data::make_listops;
using primal::data::read_listops;
using primal::data::TokenSet;
using primal::tests::error_of;

const std::vector<std::string> kFiles = {"basic_train.tsv", "basic_val.tsv", "basic_test.tsv"};

class ListOpsMaker : public primal::tests::FolderTest {
 protected:
  /// Small, but more than one block of draws.
  ListOpsRequest request(const std::string& name = "made") const {
    return {.folder = folder / name, .train = 1200, .val = 200, .test = 100};
  }

  /// The bytes of all three files.
  static std::string bytes(const ListOpsRequest& made) {
    std::string all;
    for (const std::string& file : kFiles) all += primal::tests::read(made.folder / file);
    return all;
  }

  static std::string bytes_of(const ListOpsRequest& wanted) {
    EXPECT_TRUE(make_listops(wanted));
    return bytes(wanted);
  }
};

TEST_F(ListOpsMaker, WhatItMakesIsReadAndHasTheRightLabels) {
  const ListOpsRequest wanted = request();
  ASSERT_TRUE(make_listops(wanted));
  std::set<std::vector<uint8_t>> different;
  for (const auto& [file, examples] : {std::pair(kFiles[0], 1200), {kFiles[1], 200}, {kFiles[2], 100}}) {
    const TokenSet set = read_listops(wanted.folder / file);
    ASSERT_EQ(set.examples(), examples);
    for (int64_t i = 0; i < set.examples(); ++i) {
      const auto tokens = set.sequence(i);
      EXPECT_EQ(primal::data::evaluate_listops(tokens), set.labels[i]);
      EXPECT_GE(std::ssize(tokens), 501);
      EXPECT_LE(std::ssize(tokens), 1999);
      different.emplace(tokens.begin(), tokens.end());
    }
  }
  EXPECT_EQ(different.size(), 1500) << "an expression is in two parts or twice in one";
}

TEST_F(ListOpsMaker, FilesHaveTheFormOfTheReleasedOnes) {
  const ListOpsRequest wanted = request();
  ASSERT_TRUE(make_listops(wanted));
  const std::string text = primal::tests::read(wanted.folder / "basic_val.tsv");
  const TokenSet set = read_listops(wanted.folder / "basic_val.tsv");
  ASSERT_TRUE(text.starts_with("Source\tTarget\r\n( ( "));
  ASSERT_TRUE(text.ends_with(" ] )\t" + std::to_string(set.labels.back()) + "\r\n"));
  size_t start = text.find('\n') + 1;
  for (int64_t i = 0; i < set.examples(); ++i) {
    const size_t end = text.find("\r\n", start);
    const std::string line = text.substr(start, end - start), source = line.substr(0, line.find('\t'));
    EXPECT_EQ(std::ranges::count(source, ' ') + 1, 3 * set.length(i) - 2);  // words
    EXPECT_EQ(std::ranges::count(source, '('), std::ranges::count(source, ')'));
    EXPECT_EQ(source.find("  "), source.npos);
    start = end + 2;
  }
  EXPECT_EQ(start, text.size());
}

TEST_F(ListOpsMaker, TheNumberOfThreadsDoesNotMatter) {
  ListOpsRequest wanted = request();
  const std::string expected = bytes_of(wanted);
  for (const int64_t threads : {1, 2, 3, 7}) {
    wanted.folder = folder / std::to_string(threads);
    wanted.threads = threads;
    EXPECT_TRUE(bytes_of(wanted) == expected) << threads << " threads";  // EXPECT_EQ would print 10 MB
  }
}

TEST_F(ListOpsMaker, AnotherSeedGivesOtherExpressions) {
  ListOpsRequest wanted = request();
  const std::string first = bytes_of(wanted);
  wanted.seed = 2;
  EXPECT_FALSE(bytes_of(wanted) == first);
}

// Whoever says "ListOps made with seed 1" means these bytes: they may not change with a version or a machine.
TEST_F(ListOpsMaker, TheBytesOfASeedStay) {
  const std::string made = bytes_of(request());
  EXPECT_EQ(made.size(), 9989608);
  EXPECT_EQ(primal::base::crc32c(made), 3847205403U);
}

TEST_F(ListOpsMaker, ExpressionsAreDifferentEvenIfThereAreFew) {
  ListOpsRequest wanted = request();
  wanted.limits = {.shortest = 4, .longest = 5};  // 4 * (10^2 + 10^3) of them, and more than these are drawn
  wanted.train = 3000;
  ASSERT_TRUE(make_listops(wanted));
  std::set<std::vector<uint8_t>> different;
  for (const std::string& file : kFiles) {
    const TokenSet set = read_listops(wanted.folder / file);
    for (int64_t i = 0; i < set.examples(); ++i) different.emplace(set.sequence(i).begin(), set.sequence(i).end());
  }
  EXPECT_EQ(different.size(), 3300);
}

TEST_F(ListOpsMaker, ARequestThatCannotBeMetIsAnError) {
  ListOpsRequest wanted = request();
  wanted.limits = {.shortest = 1, .longest = 1};
  for (const int64_t threads : {1, 3}) {
    wanted.threads = threads;
    EXPECT_EQ(error_of([&] { make_listops(wanted); }),
              "listops: expected 1500 different expressions of 1 to 1 tokens, found 10");
  }
  wanted.limits = {.shortest = 2, .longest = 3};
  EXPECT_EQ(error_of([&] { make_listops(wanted); }),
            "listops: expected 1500 different expressions of 2 to 3 tokens, found 0");
  EXPECT_TRUE(bytes(wanted).empty());
}

TEST_F(ListOpsMaker, ARequestThatMakesNoSenseIsAnError) {
  const auto error_with = [&](const auto& change) {
    ListOpsRequest wanted = request();
    change(wanted);
    return error_of([&] { make_listops(wanted); });
  };
  EXPECT_EQ(error_with([](ListOpsRequest& r) { r.train = 0; }),
            "listops: expected 1 to 10000000 examples in train, got 0");
  EXPECT_EQ(error_with([](ListOpsRequest& r) { r.val = -1; }),
            "listops: expected 1 to 10000000 examples in val, got -1");
  EXPECT_EQ(error_with([](ListOpsRequest& r) { r.test = 10'000'001; }),
            "listops: expected 1 to 10000000 examples in test, got 10000001");
  EXPECT_EQ(error_with([](ListOpsRequest& r) { r.limits.shortest = 0; }),
            "listops: expected lengths from at least 1 up to as many or more, got 0 to 1999");
  EXPECT_EQ(error_with([](ListOpsRequest& r) { r.limits.longest = 500; }),
            "listops: expected lengths from at least 1 up to as many or more, got 501 to 500");
  EXPECT_EQ(error_with([](ListOpsRequest& r) { r.threads = 0; }), "listops: expected at least 1 thread, got 0");
}

TEST_F(ListOpsMaker, AFileInTheWayOfTheFolderIsAnErrorBeforeTheWork) {
  ListOpsRequest wanted = request();
  wanted.folder = write("file", "text");
  wanted.progress = [](int64_t, int64_t) { ADD_FAILURE() << "the work has begun"; };
  EXPECT_TRUE(primal::tests::contains(error_of([&] { make_listops(wanted); }), wanted.folder.string() + ": cannot "));
  wanted.folder /= "inside";
  EXPECT_EQ(error_of([&] { make_listops(wanted); }),
            wanted.folder.string() + ": cannot create the folder: Not a directory");
}

TEST_F(ListOpsMaker, ProgressRisesFromNothingToTheEnd) {
  ListOpsRequest wanted = request();
  std::vector<int64_t> told;
  wanted.progress = [&](int64_t done, int64_t of) {
    EXPECT_EQ(of, 3000);
    told.push_back(done);
  };
  ASSERT_TRUE(make_listops(wanted));
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.front(), 0);
  EXPECT_EQ(told.back(), 3000);
  EXPECT_TRUE(std::ranges::any_of(told, [](int64_t done) { return done > 0 && done < 1500; })) << "while drawing";
  EXPECT_TRUE(std::ranges::any_of(told, [](int64_t done) { return done > 1500 && done < 3000; })) << "while writing";
}

TEST_F(ListOpsMaker, StoppedItLeavesTheFilesAsTheyWere) {
  ListOpsRequest wanted = request();
  int64_t asked = 0;
  wanted.stop = [&] { return ++asked < 0; };
  ASSERT_TRUE(make_listops(wanted));
  const int64_t questions = asked;
  const std::string before = bytes(wanted);
  wanted.seed = 2;
  for (const int64_t stop_at : {int64_t{1}, questions / 2, questions}) {
    asked = 0;
    wanted.stop = [&] { return ++asked == stop_at; };
    EXPECT_FALSE(make_listops(wanted)) << "question " << stop_at;
    EXPECT_EQ(asked, stop_at);
    EXPECT_TRUE(bytes(wanted) == before);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(wanted.folder), {}), 3);
}

}  // namespace
