#include "data/tokens/token_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/crc32c.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/token_sets.h"

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;  // "..."s may hold zero bytes
using primal::data::parse_token_file;
using primal::data::read_token_file;
using primal::data::TokenSet;
using primal::data::write_token_file;
using primal::tests::contains;
using primal::tests::error_of;
using primal::tests::FolderTest;
using primal::tests::text_of;

void add(TokenSet& set, int64_t label, const std::string& text) {
  set.add(label, std::vector<uint8_t>(text.begin(), text.end()));
}

TokenSet three_texts() {
  TokenSet set{.classes = {"bad", "good"}};
  for (const char* const text : {"one", "three", "fifteen"}) add(set, std::ssize(set.labels) % 2, text);
  return set;
}

void expect_same(const TokenSet& read, const TokenSet& written) {
  EXPECT_EQ(read.per_example, written.per_example);
  EXPECT_EQ(read.classes, written.classes);
  EXPECT_EQ(read.labels, written.labels);
  EXPECT_EQ(read.ends, written.ends);
  EXPECT_EQ(read.bytes, written.bytes);
  EXPECT_EQ(fingerprint_of(read), fingerprint_of(written));
}

class TokenFileTest : public FolderTest {
 protected:
  TokenSet read_back(const TokenSet& set, const std::string& description = "how") const {
    write_token_file(path, set, description);
    return read_token_file(path, description);
  }

  const fs::path path = folder / "a.tokens";
};

TEST_F(TokenFileTest, ReadsBackWhatWasWritten) {
  const TokenSet read = read_back(three_texts());
  expect_same(read, three_texts());
  EXPECT_EQ(text_of(read, 1), "three");
}

TEST_F(TokenFileTest, PairsStayPairs) {
  TokenSet set{.per_example = 2, .classes = {"apart", "together"}};
  set.add(1, std::vector<uint8_t>{1, 2}, std::vector<uint8_t>{3});
  set.add(0, std::vector<uint8_t>{4}, std::vector<uint8_t>{5, 6, 7});
  const TokenSet read = read_back(set);
  expect_same(read, set);
  EXPECT_EQ(text_of(read, 1, 1), "\5\6\7");
}

TEST_F(TokenFileTest, ASetMayBeEmpty) {
  expect_same(read_back({}), {});
  expect_same(read_back({.per_example = 2, .classes = {"a"}}), {.per_example = 2, .classes = {"a"}});
}

TEST_F(TokenFileTest, NamesAndSequencesMayBeEmptyOrHaveAnyBytes) {
  TokenSet set{.classes = {"", "zero \0 and \xff"s, ""}};
  add(set, 2, "");
  add(set, 1, "\0\xff"s);
  add(set, 0, "");
  expect_same(read_back(set, ""), set);
  expect_same(read_back(set, "two\nlines\0"s), set);
}

TEST_F(TokenFileTest, LabelsMayBeAsLargeAsAByteHolds) {
  TokenSet set{.classes = std::vector<std::string>(256, "class")};
  add(set, 255, "x");
  expect_same(read_back(set), set);
}

TEST_F(TokenFileTest, AnotherDescriptionIsRefused) {
  write_token_file(path, three_texts(), "tokens=1000");
  EXPECT_EQ(error_of([&] { read_token_file(path, "tokens=2000"); }),
            path.string() + ": is of another set: expected the description \"tokens=2000\", got \"tokens=1000\"");
}

TEST_F(TokenFileTest, ASetWhosePartsDoNotFitIsNotWritten) {
  TokenSet set = three_texts();
  const auto error = [&] { return error_of([&] { write_token_file(path, set, "how"); }); };
  set.classes.pop_back();
  EXPECT_EQ(error(), path.string() + ": example 1: expected a label below the number of classes, 1, got 1");
  set = three_texts();
  set.labels.pop_back();
  EXPECT_EQ(error(), path.string() + ": expected 1 sequences for each of 2 labels, got 3 sequences");
  set.per_example = 3;
  EXPECT_EQ(error(), path.string() + ": expected 1 or 2 sequences per example, got 3");
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TokenFileTest, NoFileAtAll) {
  EXPECT_EQ(error_of([&] { read_token_file(path, "how"); }),
            path.string() + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { read_token_file(folder, "how"); }),
            folder.string() + ": is a directory, expected a file of tokens");
}

/// A small file, and what is wrong with it after a change.
class BrokenTokenFile : public TokenFileTest {
 protected:
  static constexpr size_t kVersion = 8, kPerExample = 12, kExamples = 16, kTokens = 24, kDescription = 32, kNames = 40;
  static constexpr size_t kLabelsSum = 48, kEndsSum = 52, kHeadSum = 60;
  // After the description "how" and the names "bad" and "good".
  static constexpr size_t kFirstName = 64 + 3, kLabels = kFirstName + 4 + 3 + 4 + 4, kEnds = kLabels + 3,
                          kText = kEnds + 3 * 8;

  BrokenTokenFile() {
    write_token_file(path, three_texts(), "how");
    bytes = primal::tests::read(path);
  }

  std::string error() const {
    return error_of([&] { parse_token_file(bytes, "f", "how"); });
  }
  void put(size_t at, uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  }
  /// Makes the checksums right after a change, so that what is behind them is looked at.
  void seal() {
    put(kLabelsSum, primal::base::crc32c(bytes.substr(kLabels, 3)), 4);
    put(kEndsSum, primal::base::crc32c(bytes.substr(kEnds, 3 * 8)), 4);
    put(kHeadSum, primal::base::crc32c(bytes.substr(0, kHeadSum) + bytes.substr(64, kLabels - 64)), 4);
  }

  std::string bytes;
};

TEST_F(BrokenTokenFile, IsWholeBeforeTheChange) {
  EXPECT_EQ(bytes.size(), kText + 15);
  const std::string before = bytes;
  seal();
  EXPECT_EQ(bytes, before);
  expect_same(parse_token_file(bytes, "f", "how"), three_texts());
}

TEST_F(BrokenTokenFile, AnotherKindOfFile) {
  bytes = "hello";
  EXPECT_EQ(error(), "f: is no file of tokens: expected it to begin with \"PRMLTOKS\", got \"hello\"");
  bytes = "";
  EXPECT_EQ(error(), "f: is no file of tokens: expected it to begin with \"PRMLTOKS\", got \"\"");
}

TEST_F(BrokenTokenFile, TooShortForAHead) {
  bytes.resize(63);
  EXPECT_EQ(error(), "f: file of 63 bytes is too short for a head of 64");
}

TEST_F(BrokenTokenFile, UnknownVersion) {
  put(kVersion, 2, 4);
  EXPECT_EQ(error(), "f: version 2 is unknown, expected 1");
}

TEST_F(BrokenTokenFile, NeitherSinglesNorPairs) {
  for (const uint64_t count : {0ULL, 3ULL, 0xffffffffULL}) {
    put(kPerExample, count, 4);
    EXPECT_EQ(error(), "f: expected 1 or 2 sequences per example, got " + std::to_string(count));
  }
}

TEST_F(BrokenTokenFile, MoreOrFewerBytesThanTheHeadPromises) {
  const std::string promise = "f: expected 3 examples with 15 tokens, a description of 3 and class names of 15 bytes, ";
  bytes += "x";
  EXPECT_EQ(error(), promise + "got a file of 125 bytes, which are not as many");
  bytes.resize(bytes.size() - 2);
  EXPECT_EQ(error(), promise + "got a file of 123 bytes, which are not as many");
}

TEST_F(BrokenTokenFile, SizesBeyondTheFile) {
  for (const size_t field : {kExamples, kTokens, kDescription, kNames}) {
    const std::string before = bytes;
    for (const uint64_t size : {uint64_t{100}, uint64_t{1} << 61, ~uint64_t{0}}) {
      put(field, size, 8);
      seal();
      EXPECT_TRUE(contains(error(), "which are not as many")) << field << " " << size;
    }
    bytes = before;
  }
}

TEST_F(BrokenTokenFile, SizesWhoseSumOverflowsToThatOfTheFile) {
  put(kTokens, uint64_t{15} - 1000, 8);
  put(kNames, 15 + 1000, 8);
  seal();
  EXPECT_TRUE(contains(error(), "which are not as many"));
}

TEST_F(BrokenTokenFile, EveryByteIsUnderAChecksum) {
  for (size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= 1;
    EXPECT_NE(error(), "") << at;
    bytes[at] ^= 1;
  }
}

TEST_F(BrokenTokenFile, TheDamagedPartIsNamed) {
  const auto error_at = [&](size_t at) {
    bytes[at] ^= 1;
    const std::string message = error();
    bytes[at] ^= 1;
    return message;
  };
  EXPECT_EQ(error_at(kFirstName), "f: the head is damaged: its checksum does not fit");
  EXPECT_EQ(error_at(kLabels), "f: the labels are damaged: their checksum does not fit");
  EXPECT_EQ(error_at(kEnds), "f: the ends of sequences are damaged: their checksum does not fit");
  EXPECT_EQ(error_at(kText), "f: the tokens are damaged: their checksum does not fit");
}

TEST_F(BrokenTokenFile, ANameBeyondTheNames) {
  put(kFirstName, 0xffffffff, 4);
  seal();
  EXPECT_EQ(error(), "f: the name of class 0 does not fit into the bytes of the names");
}

TEST_F(BrokenTokenFile, NamesThatEndWithinASize) {
  put(kFirstName, 3 + 4 + 1, 4);  // takes all but three bytes
  seal();
  EXPECT_EQ(error(), "f: the name of class 1 does not fit into the bytes of the names");
}

TEST_F(BrokenTokenFile, ALabelWithoutClass) {
  bytes[kLabels + 2] = 2;
  seal();
  EXPECT_EQ(error(), "f: example 2: expected a label below the number of classes, 2, got 2");
}

TEST_F(BrokenTokenFile, EndsThatFall) {
  put(kEnds + 8, 2, 8);
  seal();
  EXPECT_EQ(error(), "f: sequence 1: expected an end at or after that of the one before, 3, got 2");
}

TEST_F(BrokenTokenFile, AnEndBeyondTheTokensOrBeforeTheirs) {
  for (const uint64_t end : {uint64_t{14}, uint64_t{16}, ~uint64_t{0}}) {
    put(kEnds + 16, end, 8);
    seal();
    EXPECT_EQ(error(), "f: expected the last sequence to end with the tokens, at 15, got " + std::to_string(end));
  }
}

}  // namespace
