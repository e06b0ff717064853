#include "data/text/encoded_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "data/text/byte_coder.h"
#include "data/text/word_counts.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/real_data.h"

namespace {

namespace fs = std::filesystem;
using namespace primal::data;
using primal::tests::error_of;

using Ids = std::vector<int32_t>;

Ids ids_of(const TokenStream& stream) {
  Ids ids;
  for (int64_t i = 0; i < stream.size(); ++i) ids.push_back(stream.id(i));
  return ids;
}

std::vector<int64_t> starts_of(const TokenStream& stream) {
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < stream.documents(); ++i) starts.push_back(stream.document_start(i));
  return starts;
}

class EncodedStreamTest : public primal::tests::FolderTest {
 protected:
  /// Which must be kept.
  TokenStream stream(const TextCoder& coder) const {
    EncodedStream encoded = encoded_stream(request, coder);
    EXPECT_EQ(encoded.note, "");
    return std::move(encoded.stream);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(request.folder)) paths.push_back(entry.path());
    return paths;
  }

  const ByteCoder bytes;
  const WordCoder words{{"a", "b"}, 0, "test"};
  const fs::path file = write("a.txt", "a b\nc");
  StreamRequest request{.folder = folder / "made" / "cache", .name = "text", .pieces = {{.file = file}}};
};

TEST_F(EncodedStreamTest, ADocumentOfBytesHasAsManyTokens) {
  const TokenStream made = stream(bytes);
  EXPECT_EQ(ids_of(made), (Ids{'a', ' ', 'b', '\n', 'c'}));
  EXPECT_EQ(made.counts(), (TextCounts{.bytes = 5, .words = 5, .unknown = 0}));
  EXPECT_EQ(made.vocabulary(), 257);
}

TEST_F(EncodedStreamTest, TheLastLineOfWordsHasAnEndToo) {
  const TokenStream made = stream(words);
  EXPECT_EQ(ids_of(made), (Ids{4, 5, 2, 3, 2}));
  EXPECT_EQ(made.counts(), (TextCounts{.bytes = 5, .words = 5, .unknown = 1}));
}

TEST_F(EncodedStreamTest, TheEndStandsBetweenDocuments) {
  request.pieces = {{.file = file, .begin = 2, .end = 4}, {.file = file, .end = 1}, {.file = file, .begin = 4}};
  const TokenStream of_bytes = stream(bytes);
  EXPECT_EQ(ids_of(of_bytes), (Ids{'b', '\n', 256, 'a', 256, 'c'}));
  EXPECT_EQ(starts_of(of_bytes), (std::vector<int64_t>{0, 3, 5}));
  EXPECT_EQ(of_bytes.counts().bytes, 4U);
  const TokenStream of_words = stream(words);
  EXPECT_EQ(ids_of(of_words), (Ids{5, 2, 4, 2, 3, 2}));
  EXPECT_EQ(starts_of(of_words), (std::vector<int64_t>{0, 2, 4}));
}

TEST_F(EncodedStreamTest, ArticlesAreDocuments) {
  const std::string text = " \n = b = \n \n a \n = = b = = \n \n = a = \n \n b \n";
  request.pieces = {{.file = write("wiki.tokens", text)}, {.file = file}};
  request.documents = Documents::articles;
  const TokenStream made = stream(words);
  const auto start = static_cast<std::int64_t>(std::string_view(text).find(" = a"));
  ASSERT_EQ(made.documents(), 3);
  EXPECT_EQ(made.document_start(1), 1 + 4 + 1 + 2 + 6 + 1);
  EXPECT_EQ(made.document_start(2), made.document_start(1) + 4 + 1 + 2);
  EXPECT_EQ(stream(bytes).document_start(1), start + 1);  // after the end of the first
  request.documents = Documents::pieces;
  EXPECT_EQ(stream(words).documents(), 2);
}

TEST_F(EncodedStreamTest, DoesNotDependOnTheNumberOfThreads) {
  std::mt19937 random(5);
  std::string text;
  while (text.size() < 9'000'000) text += std::string(1, "ab"[random() % 2]) + (random() % 9 == 0 ? "\n" : " ");
  request.pieces.insert(request.pieces.begin(), {.file = write("long.txt", text)});
  for (const TextCoder* coder : {static_cast<const TextCoder*>(&words), static_cast<const TextCoder*>(&bytes)}) {
    request.threads = 1;
    const std::string expected = encode_pieces(request, *coder, "how");
    Ids whole;
    coder->encode(text, "whole", whole);
    const Ids chunked = ids_of(TokenStream::from_bytes(expected, "f", "how"));
    EXPECT_TRUE(std::equal(whole.begin(), whole.end(), chunked.begin()));  // where it was cut cannot be told
    for (const int64_t threads : {2, 3, 8}) {
      request.threads = threads;
      EXPECT_EQ(encode_pieces(request, *coder, "how"), expected);
    }
  }
}

TEST_F(EncodedStreamTest, TellsHowFarItIs) {
  std::vector<std::pair<int64_t, int64_t>> told;
  request.progress = [&](int64_t done, int64_t of) { told.emplace_back(done, of); };
  stream(bytes);
  EXPECT_EQ(told, (std::vector<std::pair<int64_t, int64_t>>{{0, 5}, {5, 5}}));
}

TEST_F(EncodedStreamTest, MistakesAreToldWithFileAndLine) {
  std::string lines;
  for (int i = 0; i < 400'000; ++i) lines += "a b a\n";  // more than a chunk
  request.pieces = {{.file = write("bad.txt", lines + "a\xff\n")}};
  for (const int64_t threads : {1, 3}) {
    request.threads = threads;
    EXPECT_EQ(error_of([&] { stream(words); }),
              (folder / "bad.txt").string() + ":400001: column 2: expected UTF-8 text, got the byte \\xff");
  }
  EXPECT_FALSE(fs::exists(request.folder));
  EXPECT_EQ(stream(bytes).id(2'400'001), 0xff);
}

TEST_F(EncodedStreamTest, APieceWithoutTextIsAMistake) {
  request.pieces = {{.file = write("none.txt", "")}};
  EXPECT_EQ(error_of([&] { stream(bytes); }), (folder / "none.txt").string() + ": is empty, expected text");
  request.pieces = {{.file = file, .begin = 3, .end = 6}};
  EXPECT_EQ(error_of([&] { stream(bytes); }), file.string() + ": expected the bytes 3 to 6, got a file of 5");
  request.pieces = {{.file = file, .begin = 5}};
  EXPECT_EQ(error_of([&] { stream(bytes); }), file.string() + ": expected the bytes 5 to 5, got a file of 5");
  request.pieces = {};
  EXPECT_EQ(error_of([&] { stream(bytes); }), "text: expected a text file at least, got none");
  request.pieces = {{.file = folder / "gone"}};
  EXPECT_EQ(error_of([&] { stream(bytes); }), (folder / "gone").string() + ": cannot open: No such file or directory");
}

TEST_F(EncodedStreamTest, IsMadeOnceAndThenTaken) {
  int made = 0;
  request.progress = [&](int64_t done, int64_t) { made += done == 0; };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stream(bytes).size(), 5);
  EXPECT_EQ(made, 1);
  ASSERT_EQ(files().size(), 1U);
  EXPECT_TRUE(files()[0].filename().string().starts_with("text-bytes-"));
  EXPECT_EQ(files()[0].extension(), ".stream");
}

TEST_F(EncodedStreamTest, IsMadeAnewWhenAnythingChanges) {
  int made = 0;
  request.progress = [&](int64_t done, int64_t) { made += done == 0; };
  const auto expect_new = [&](const TextCoder& coder, int64_t tokens) {
    const int before = made;
    EXPECT_EQ(stream(coder).size(), tokens);
    EXPECT_EQ(stream(coder).size(), tokens);
    EXPECT_EQ(made, before + 1);
  };
  expect_new(words, 5);
  expect_new(WordCoder({"a", "b", "c"}, 0, "test"), 5);
  expect_new(bytes, 5);
  EXPECT_EQ(files().size(), 2U);  // one of words, one of bytes
  write("a.txt", "a b\ncd");
  expect_new(bytes, 6);
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::nanoseconds(1));
  expect_new(bytes, 6);
  request.pieces[0].end = 3;
  expect_new(bytes, 3);
  request.documents = Documents::articles;
  expect_new(bytes, 3);
  for (const fs::path& path : files()) write(path, primal::tests::read(path) + "x");
  expect_new(bytes, 3);
}

TEST_F(EncodedStreamTest, ThatCannotBeKeptIsInMemory) {
  request.folder = file / "cache";  // below a file
  const EncodedStream encoded = encoded_stream(request, bytes);
  EXPECT_EQ(encoded.stream.size(), 5);
  EXPECT_EQ(encoded.note, "text-bytes is not kept for the next time: " + request.folder.string() +
                              ": cannot make the folder: Not a directory");
}

TEST_F(EncodedStreamTest, SeveralAtOnceDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i, own = request]() mutable {
      own.pieces[0].end = 2 + i % 2;  // two remove each other's file, two write the same one
      for (int k = 0; k < 20; ++k) EXPECT_EQ(encoded_stream(own, bytes).stream.size(), 2 + i % 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(EncodedStreamTest, WikiText2HasThePublishedCounts) {
  const fs::path wikitext = primal::tests::real_data("language/wikitext-2");
  if (wikitext.empty()) GTEST_SKIP() << primal::tests::kNoRealData;
  const auto coder = make_word_coder(std::vector<TextPiece>{{.file = wikitext / "wiki.train.tokens"}}, {}, 2);
  const std::vector<std::tuple<std::string, int64_t, int64_t>> parts = {
      {"train", 2'088'628, 600}, {"valid", 217'646, 60}, {"test", 245'569, 60}};
  for (const auto& [part, tokens, articles] : parts) {
    request.name = part;
    request.pieces = {{.file = wikitext / ("wiki." + part + ".tokens")}};
    request.documents = Documents::articles;
    const TokenStream made = stream(*coder);
    EXPECT_EQ(made.size(), tokens);
    EXPECT_EQ(made.counts().words, static_cast<uint64_t>(tokens));
    EXPECT_EQ(made.counts().bytes, fs::file_size(request.pieces[0].file));
    EXPECT_EQ(made.documents(), articles);
    std::string text = primal::tests::read(request.pieces[0].file);
    Ids ids;
    coder->encode(text, part, ids, {.strict = true});  // all words of the other parts are in TRAIN
    EXPECT_EQ(ids, ids_of(made));
  }
}

}  // namespace
