#include "data/tokens/token_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/errors.h"
#include "support/files.h"
#include "support/token_sets.h"

namespace {

namespace fs = std::filesystem;
using primal::data::cached_tokens;
using primal::data::CachedTokens;
using primal::data::TokenCacheRequest;
using primal::data::TokenSet;
using primal::tests::contains;
using primal::tests::error_of;
using primal::tests::texts_of;

/// A set made from a file, and how often it was read.
class TokenCacheTest : public primal::tests::FolderTest {
 protected:
  TokenSet read_source() {
    ++reads;
    const std::string text = primal::tests::read(source);
    TokenSet set{.classes = {"only"}};
    set.add(0, std::vector<uint8_t>(text.begin(), text.end()));
    return set;
  }
  CachedTokens cached() {
    return cached_tokens(request, [&] { return read_source(); });
  }
  /// The text of the set, which must be got without a note.
  std::string text() {
    const CachedTokens result = cached();
    EXPECT_EQ(result.note, "");
    return texts_of(result.set).at(0);
  }
  /// Of the cache.
  std::vector<fs::path> files() const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(request.folder)) paths.push_back(entry.path());
    return paths;
  }
  fs::path only_file() const {
    EXPECT_EQ(files().size(), 1U);
    return files().at(0);
  }

  const fs::path source = write("train.tsv", "some text");
  TokenCacheRequest request{
      .folder = folder / "made" / "cache", .name = "set-train", .sources = {source}, .options = "tokens=2000"};
  int reads = 0;
};

TEST_F(TokenCacheTest, ReadsOnceAndThenTakesTheFile) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(text(), "some text");
  EXPECT_EQ(reads, 1);
  EXPECT_TRUE(only_file().filename().string().starts_with("set-train-"));
  EXPECT_EQ(only_file().extension(), ".tokens");
}

TEST_F(TokenCacheTest, TheSetFromTheFileIsTheSame) {
  TokenSet pairs{.per_example = 2, .classes = {"apart", "together"}};
  pairs.add(1, std::vector<uint8_t>{1, 2}, std::vector<uint8_t>{});
  pairs.add(0, std::vector<uint8_t>{3}, std::vector<uint8_t>{4, 5});
  for (const TokenSet& set : {pairs, TokenSet{}, TokenSet{.classes = {"a", "b"}}}) {
    request.options += "+";
    cached_tokens(request, [&] { return set; });
    const TokenSet kept = cached_tokens(request, []() -> TokenSet { throw std::logic_error("read again"); }).set;
    EXPECT_EQ(kept.per_example, set.per_example);
    EXPECT_EQ(fingerprint_of(kept), fingerprint_of(set));
  }
}

TEST_F(TokenCacheTest, AnotherSizeOfASourceIsNoticed) {
  text();
  const auto time = fs::last_write_time(source);
  write("train.tsv", "more text than before");
  fs::last_write_time(source, time);
  EXPECT_EQ(text(), "more text than before");
  EXPECT_EQ(text(), "more text than before");
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(files().size(), 1U);  // it replaced the other
}

TEST_F(TokenCacheTest, AnotherTimeOfASourceIsNoticedToTheNanosecond) {
  text();
  fs::last_write_time(source, fs::last_write_time(source) + std::chrono::nanoseconds(1));
  text();
  text();
  EXPECT_EQ(reads, 2);
}

TEST_F(TokenCacheTest, OtherOptionsReplaceTheFile) {
  text();
  const fs::path before = only_file();
  request.options = "tokens=1000";
  text();
  text();
  EXPECT_EQ(reads, 2);
  EXPECT_NE(only_file(), before);
}

TEST_F(TokenCacheTest, OtherSourcesReplaceTheFile) {
  text();
  request.sources.push_back(write("names.txt", "names"));
  text();
  text();
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(TokenCacheTest, SetsOfOtherNamesAndOtherFilesStay) {
  const std::vector<std::string> others = {"set-train-0123abcd.tokens.bak", "set-train-0123abcX.tokens",
                                           "set-train-x-0123abcd.tokens",   "set-train-0123abcde.tokens",
                                           "set-0123abcd.tokens",           "set-train.tokens"};
  for (const std::string& name : others) write(request.folder / name, "");
  write(request.folder / "set-train-0123abcd.tokens", "of other options");
  text();
  EXPECT_EQ(files().size(), others.size() + 1);
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(request.folder / name)) << name;
}

TEST_F(TokenCacheTest, TheWorkingDirectoryDoesNotMatter) {
  text();
  request.sources = {fs::relative(source)};
  text();
  EXPECT_EQ(reads, 1);
}

TEST_F(TokenCacheTest, ADamagedFileIsMadeAnew) {
  text();
  const std::string good = primal::tests::read(only_file());
  for (const std::string& bad :
       {std::string(), good.substr(0, 40), good.substr(0, good.size() - 1) + "X", good + "X"}) {
    write(only_file(), bad);
    EXPECT_EQ(text(), "some text");
    EXPECT_EQ(primal::tests::read(only_file()), good);
  }
  EXPECT_EQ(reads, 5);
}

TEST_F(TokenCacheTest, ACacheThatCannotBeWrittenGivesTheSetAndANote) {
  request.folder = source / "cache";  // below a file
  const CachedTokens result = cached();
  EXPECT_EQ(texts_of(result.set).at(0), "some text");
  EXPECT_EQ(result.note, "set-train is not kept for the next time: " + request.folder.string() +
                             ": cannot make the folder: Not a directory");
}

TEST_F(TokenCacheTest, AFileThatCannotBeReplacedGivesTheSetAndANote) {
  text();
  const fs::path file = only_file();
  fs::remove(file);
  fs::create_directory(file);
  const CachedTokens result = cached();
  EXPECT_EQ(texts_of(result.set).at(0), "some text");
  EXPECT_TRUE(contains(result.note, "is a directory, expected a file to write"));
}

TEST_F(TokenCacheTest, ASetWhosePartsDoNotFitIsNotKept) {
  TokenSet set;
  set.add(3, std::vector<uint8_t>{1});
  const CachedTokens result = cached_tokens(request, [&] { return set; });
  EXPECT_EQ(result.set.labels, set.labels);
  EXPECT_TRUE(contains(result.note, "expected a label below the number of classes, 0, got 3"));
  EXPECT_TRUE(files().empty());
}

TEST_F(TokenCacheTest, WhatTheReaderThrowsIsThrownAndNothingIsKept) {
  const auto fails = []() -> TokenSet { throw primal::Error("train.tsv:3: expected a label"); };
  EXPECT_EQ(error_of([&] { cached_tokens(request, fails); }), "train.tsv:3: expected a label");
  EXPECT_FALSE(fs::exists(request.folder));
}

TEST_F(TokenCacheTest, ASourceThatAppearsOrGoesIsNoticed) {
  request.sources.push_back(folder / "names.txt");
  text();
  text();
  EXPECT_EQ(reads, 1);
  write("names.txt", "");
  text();
  EXPECT_EQ(reads, 2);
  fs::remove(folder / "names.txt");
  text();
  EXPECT_EQ(reads, 3);
}

TEST_F(TokenCacheTest, SeveralAtOnceDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([own = request, i]() mutable {
      own.options += std::to_string(i % 2);  // two remove each other's file, two write the same one
      const TokenSet set{.classes = {"class of " + own.options}};
      for (int k = 0; k < 20; ++k) {
        const CachedTokens result = cached_tokens(own, [&] { return set; });
        EXPECT_EQ(result.set.classes, set.classes);
        EXPECT_EQ(result.note, "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// The source is a folder of two files.
class TokenCacheOfFolder : public TokenCacheTest {
 protected:
  TokenCacheOfFolder() {
    write("reviews/0_3.txt", "bad");
    write("reviews/1_9.txt", "good");
    request.sources = {folder / "reviews"};
    text();
    text();
    EXPECT_EQ(reads, 1);
  }
  bool is_read_again() {
    const int before = reads;
    text();
    return reads > before;
  }
};

TEST_F(TokenCacheOfFolder, NoticesANewEntry) {
  write("reviews/2_1.txt", "awful");
  EXPECT_TRUE(is_read_again());
}

TEST_F(TokenCacheOfFolder, NoticesThatAnEntryIsGone) {
  fs::remove(folder / "reviews/1_9.txt");
  EXPECT_TRUE(is_read_again());
}

TEST_F(TokenCacheOfFolder, NoticesANewName) {
  fs::rename(folder / "reviews/1_9.txt", folder / "reviews/1_8.txt");
  EXPECT_TRUE(is_read_again());
}

TEST_F(TokenCacheOfFolder, NoticesAnotherSizeOrTimeOfAnEntry) {
  const fs::path entry = folder / "reviews/1_9.txt";
  const auto time = fs::last_write_time(entry);
  write("reviews/1_9.txt", "better");
  fs::last_write_time(entry, time);
  EXPECT_TRUE(is_read_again());
  fs::last_write_time(entry, time + std::chrono::nanoseconds(1));
  EXPECT_TRUE(is_read_again());
}

TEST_F(TokenCacheOfFolder, MayHoldAHiddenCache) {
  request.folder = folder / "reviews" / ".cache";
  EXPECT_TRUE(is_read_again());
  EXPECT_FALSE(is_read_again());
}

TEST_F(TokenCacheOfFolder, WithTooManyEntriesIsNotKept) {
  request.most_entries = 2;
  EXPECT_FALSE(is_read_again());
  request.most_entries = 1;
  const CachedTokens result = cached();
  EXPECT_EQ(texts_of(result.set).at(0), "some text");
  EXPECT_EQ(result.note,
            "set-train is not kept for the next time: " + (folder / "reviews").string() + ": has more than 1 entries");
}

}  // namespace
