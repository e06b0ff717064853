#include "data/text/token_stream.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

using primal::data::TextCounts;
using primal::data::TokenStream;
using primal::data::TokenStreamBuilder;
using primal::tests::contains;
using primal::tests::error_of;

using Ids = std::vector<int32_t>;

constexpr TextCounts kCounts{.bytes = 20, .words = 6, .unknown = 1};

/// Two documents: 3 and 2 tokens.
std::string small_file(int64_t vocabulary = 10, int32_t last = 9) {
  TokenStreamBuilder builder(vocabulary, "how");
  builder.begin_document();
  builder.add(Ids{1, 2});
  builder.add(Ids{3});
  builder.begin_document();
  builder.add(Ids{0, last});
  return builder.finish(kCounts);
}

std::vector<int64_t> ids_of(const TokenStream& stream, int64_t begin, int64_t count) {
  std::vector<int64_t> ids(static_cast<std::size_t>(count));
  stream.ids(begin, count, ids.data());
  return ids;
}

void expect_small_file(const TokenStream& stream) {
  EXPECT_EQ(stream.size(), 5);
  EXPECT_EQ(ids_of(stream, 0, 4), (std::vector<int64_t>{1, 2, 3, 0}));
  EXPECT_EQ(ids_of(stream, 2, 2), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(ids_of(stream, 5, 0), (std::vector<int64_t>{}));
  EXPECT_EQ(stream.documents(), 2);
  EXPECT_EQ(stream.document_start(0), 0);
  EXPECT_EQ(stream.document_start(1), 3);
  EXPECT_EQ(stream.document_start(2), 5);
  EXPECT_EQ(stream.counts(), kCounts);
}

class TokenStreamFile : public primal::tests::FolderTest {};

TEST_F(TokenStreamFile, IsReadAsItWasWritten) {
  const auto path = write("a.stream", small_file());
  const TokenStream stream = TokenStream::open(path, "how");
  expect_small_file(stream);
  EXPECT_EQ(stream.id(4), 9);
  EXPECT_EQ(stream.vocabulary(), 10);
  EXPECT_EQ(stream.bytes(), small_file());
}

TEST_F(TokenStreamFile, TwoBytesHoldAsManyIdsAsTheyCan) {
  const std::string narrow = small_file(65536, 65535), wide = small_file(65537, 65536);
  EXPECT_EQ(wide.size(), narrow.size() + 5 * 2);
  EXPECT_EQ(TokenStream::from_bytes(narrow, "f", "how").id(4), 65535);
  const TokenStream stream = TokenStream::from_bytes(wide, "f", "how");
  expect_small_file(stream);
  EXPECT_EQ(stream.id(4), 65536);
}

TEST_F(TokenStreamFile, MayBeMoved) {
  TokenStream first = TokenStream::from_bytes(small_file(), "f", "how");
  const TokenStream second = std::move(first);
  expect_small_file(second);
}

TEST_F(TokenStreamFile, NoFileAtAll) {
  EXPECT_EQ(error_of([&] { TokenStream::open(folder / "none", "how"); }),
            (folder / "none").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { TokenStream::open(folder, "how"); }),
            folder.string() + ": is a directory, expected a token stream");
}

/// A small file, and what is wrong with it after a change.
class BrokenTokenStream : public testing::Test {
 protected:
  static constexpr std::size_t kVersion = 8, kIdSize = 12, kVocabulary = 16, kTokens = 24, kDocuments = 32,
                               kDescription = 64, kIdsSum = 72, kHeadSum = 76, kText = 80, kIds = 83,
                               kStarts = kIds + 5 * 2;

  std::string error() const {
    return error_of([&] { TokenStream::from_bytes(bytes, "f", "how"); });
  }
  void put(std::size_t at, uint64_t value, std::size_t count) { std::memcpy(bytes.data() + at, &value, count); }
  /// Makes the checksums right after a change, so that what is behind them is looked at.
  void seal() {
    put(kIdsSum, primal::base::crc32c(bytes.substr(kIds, 5 * 2)), 4);
    put(kHeadSum, primal::base::crc32c(bytes.substr(0, kHeadSum) + bytes.substr(kText, 3) + bytes.substr(kStarts)), 4);
  }

  std::string bytes = small_file();
};

TEST_F(BrokenTokenStream, IsWholeBeforeTheChange) {
  EXPECT_EQ(bytes.size(), kStarts + 2 * 8);
  seal();
  EXPECT_EQ(bytes, small_file());
}

TEST_F(BrokenTokenStream, AnotherKindOfFile) {
  bytes = "hello";
  EXPECT_EQ(error(), "f: is no token stream: expected it to begin with \"PRMLTEXT\", got \"hello\"");
  bytes = small_file().substr(0, 79);
  EXPECT_EQ(error(), "f: file of 79 bytes is too short for a head of 80");
}

TEST_F(BrokenTokenStream, UnknownVersion) {
  put(kVersion, 2, 4);
  EXPECT_EQ(error(), "f: version 2 is unknown, expected 1");
}

TEST_F(BrokenTokenStream, IdsOfAnotherSizeThanTheirNumberNeeds) {
  const std::string start = "f: expected 1 to 2147483647 ids of 2 bytes, or of 4 if there are more than 65536, got ";
  put(kIdSize, 4, 4);
  EXPECT_EQ(error(), start + "10 of 4");
  put(kIdSize, 2, 4);
  for (const uint64_t vocabulary : {uint64_t{0}, uint64_t{65537}, uint64_t{1} << 31, ~uint64_t{0}}) {
    put(kVocabulary, vocabulary, 8);
    EXPECT_EQ(error(), start + std::to_string(vocabulary) + " of 2");
  }
}

TEST_F(BrokenTokenStream, MoreOrFewerBytesThanTheHeadPromises) {
  const std::string promise = "f: expected 5 tokens in 2 documents and a description of 3 bytes, got a file of ";
  bytes += "x";
  EXPECT_EQ(error(), promise + "110 bytes, which are not as many");
  bytes.resize(bytes.size() - 2);
  EXPECT_EQ(error(), promise + "108 bytes, which are not as many");
}

TEST_F(BrokenTokenStream, SizesBeyondTheFile) {
  for (const std::size_t field : {kTokens, kDocuments, kDescription}) {
    for (const uint64_t size : {uint64_t{100}, uint64_t{1} << 61, ~uint64_t{0}}) {
      bytes = small_file();
      put(field, size, 8);
      seal();
      EXPECT_TRUE(contains(error(), "which are not as many")) << field << " " << size;
    }
  }
}

TEST_F(BrokenTokenStream, EveryByteIsUnderAChecksum) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= 1;
    EXPECT_NE(error(), "") << at;
    bytes[at] ^= 1;
  }
  bytes[kIds] ^= 1;
  EXPECT_EQ(error(), "f: the ids are damaged: their checksum does not fit");
  bytes[kStarts] ^= 1;
  EXPECT_EQ(error(), "f: the head is damaged: its checksum does not fit");
}

TEST_F(BrokenTokenStream, AnIdThatTheCoderDoesNotHave) {
  put(kIds, 10, 2);
  seal();
  EXPECT_EQ(error(), "f: expected ids below 10, got 10");
}

TEST_F(BrokenTokenStream, StartsThatDoNotRise) {
  put(kStarts, 1, 8);
  seal();
  EXPECT_EQ(error(), "f: document 0: expected it to begin at token 0, of 5, got 1");
  put(kStarts, 0, 8);
  for (const uint64_t start : {uint64_t{0}, uint64_t{5}, ~uint64_t{0}}) {
    put(kStarts + 8, start, 8);
    seal();
    EXPECT_EQ(error(), "f: document 1: expected it to begin at token 1 or later, of 5, got " + std::to_string(start));
  }
}

TEST_F(BrokenTokenStream, WithoutATokenOrADocument) {
  TokenStreamBuilder empty(10, "how");
  bytes = empty.finish({});
  EXPECT_EQ(error(), "f: expected a token and a document, got 0 and 0");
}

TEST_F(BrokenTokenStream, AnotherDescription) {
  EXPECT_EQ(error_of([&] { TokenStream::from_bytes(bytes, "f", "why"); }),
            "f: is of another text: expected the description \"why\", got \"how\"");
}

}  // namespace
