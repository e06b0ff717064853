#include <gtest/gtest.h>

#include <algorithm>

#include "support/errors.h"
#include "support/token_streams.h"
#include "tasks/language/blocks.h"

namespace primal::tasks {
namespace {

using tests::stream_of;

std::vector<int64_t> row(const torch::Tensor& tensor, int64_t index) {
  const torch::Tensor ids = tensor[index].contiguous();
  return {ids.data_ptr<int64_t>(), ids.data_ptr<int64_t>() + ids.numel()};
}

std::vector<int64_t> ids_between(const data::TokenStream& text, int64_t begin, int64_t end) {
  std::vector<int64_t> ids(static_cast<size_t>(end - begin));
  text.ids(begin, end - begin, ids.data());
  return ids;
}

TEST(TrainingBlocks, HaveEqualLengthAndTheLastReachesBack) {
  const data::TokenStream text = stream_of({10, 13});
  const std::vector<Window> blocks = training_blocks(text, 8, Breaks::none);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[1].begin, 8);
  EXPECT_EQ(blocks[2].begin, 15);
  EXPECT_EQ(blocks[2].end, 23);
  for (const Window& block : blocks) EXPECT_EQ(block.size(), 8);
}

TEST(TrainingBlocks, OfAShortTextAreItself) {
  const std::vector<Window> blocks = training_blocks(stream_of({5}), 8, Breaks::none);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].size(), 5);
}

TEST(TrainingBlocks, OfDocumentsNeverReachAcrossTheirEnds) {
  const std::vector<Window> blocks = training_blocks(stream_of({10, 3}), 8, Breaks::document);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[0].end, 8);
  EXPECT_EQ(blocks[1].begin, 8);
  EXPECT_EQ(blocks[1].end, 10);
  EXPECT_FALSE(blocks[1].begins_document);
  EXPECT_EQ(blocks[2].begin, 10);
  EXPECT_TRUE(blocks[2].begins_document);
}

class ScoringWindows : public testing::TestWithParam<std::tuple<int64_t, int64_t, Breaks>> {};

TEST_P(ScoringWindows, ScoreEveryTokenOnceWithEnoughBeforeIt) {
  const auto [block, context, breaks] = GetParam();
  const std::vector<int64_t> documents{1, 17, 40, 2};
  const data::TokenStream text = stream_of(documents);
  int64_t next = 0;
  for (const Window& window : scoring_windows(text, block, context, breaks)) {
    EXPECT_EQ(window.scored, next);
    EXPECT_GT(window.end, window.scored);
    EXPECT_LE(window.size(), block);
    int64_t start = 0;  // of the text, or of the document
    if (breaks == Breaks::document) {
      for (int64_t i = 0; i < text.documents(); ++i) {
        if (text.document_start(i) <= window.scored) start = text.document_start(i);
      }
    }
    EXPECT_GE(window.scored - window.begin, std::min(context, window.scored - start));
    EXPECT_EQ(window.begins_document, window.begin == start);
    next = window.end;
  }
  EXPECT_EQ(next, text.size());
}

INSTANTIATE_TEST_SUITE_P(All, ScoringWindows,
                         testing::Combine(testing::Values(8, 16, 100), testing::Values(0, 5, 7),
                                          testing::Values(Breaks::none, Breaks::document)));

TEST(BatchOf, GivesEachTokenTheOneBeforeIt) {
  const data::TokenStream text = stream_of({20});
  const std::vector<Window> windows = training_blocks(text, 8, Breaks::none);
  const BlockBatch batch = batch_of(text, windows, /*end=*/18, std::nullopt);
  EXPECT_EQ(batch.tokens, 24);
  EXPECT_EQ(row(batch.targets, 0), ids_between(text, 0, 8));
  std::vector<int64_t> first = ids_between(text, 0, 7);
  first.insert(first.begin(), 18);
  EXPECT_EQ(row(batch.ids, 0), first);
  EXPECT_EQ(row(batch.targets, 1), ids_between(text, 8, 16));
  EXPECT_EQ(row(batch.ids, 1), ids_between(text, 7, 15));
}

TEST(BatchOf, FillsShorterWindowsWithPadding) {
  const data::TokenStream text = stream_of({6, 3});
  const std::vector<Window> windows = training_blocks(text, 8, Breaks::document);
  const BlockBatch batch = batch_of(text, windows, /*end=*/18, /*padding=*/19);
  EXPECT_EQ(batch.tokens, 9);
  EXPECT_EQ(row(batch.targets, 1), (std::vector<int64_t>{text.id(6), text.id(7), text.id(8), 19, 19, 19}));
  EXPECT_EQ(row(batch.ids, 1), (std::vector<int64_t>{18, text.id(6), text.id(7), 19, 19, 19}));
  EXPECT_EQ(tests::error_of([&] { batch_of(text, windows, 18, std::nullopt); }),
            "windows of unequal length need padding");
}

}  // namespace
}  // namespace primal::tasks
