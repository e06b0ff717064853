// From token sets to batches of ids.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/tensors.h"
#include "tasks/lra/token_batches.h"

namespace primal::tasks {
namespace {

using tests::same;

using Bytes = std::vector<uint8_t>;

// Sequences of these lengths: token t of example i is 10 i + t.
data::TokenSet numbered_tokens(const std::vector<int>& lengths) {
  data::TokenSet set{.classes = {"a", "b"}};
  for (size_t i = 0; i < lengths.size(); ++i) {
    Bytes tokens(static_cast<size_t>(lengths[i]));
    std::iota(tokens.begin(), tokens.end(), static_cast<uint8_t>(10 * i));
    set.add(static_cast<int64_t>(i % 2), tokens);
  }
  return set;
}

std::vector<int64_t> all_of(const data::TokenSet& set) {
  std::vector<int64_t> examples(static_cast<size_t>(set.examples()));
  std::iota(examples.begin(), examples.end(), 0);
  return examples;
}

torch::Tensor ids_of(const std::vector<int64_t>& ids, int64_t columns) {
  return torch::tensor(ids).view({-1, columns});
}

TEST(TokenBatches, ABatchIsAsWideAsItsLongestSequence) {
  const std::vector<int64_t> examples = {2, 0};
  const models::TokenBatch batch = batch_of(numbered_tokens({2, 5, 3}), examples, {});
  EXPECT_TRUE(same(batch.ids, ids_of({21, 22, 23, 1, 2, 0}, 3)));
  EXPECT_TRUE(same(batch.padding, ids_of({0, 0, 0, 0, 0, 1}, 3).to(torch::kBool)));
  EXPECT_TRUE(same(labels_of(numbered_tokens({2, 5, 3}), std::vector<int64_t>{1, 2, 0}), torch::tensor({1, 0, 0})));
}

TEST(TokenBatches, ABatchMayBePaddedToAFixedWidth) {
  const data::TokenSet set = numbered_tokens({2, 5});
  const models::TokenBatch batch = batch_of(set, all_of(set), {.padded_to = 8});
  EXPECT_EQ(batch.ids.sizes(), (std::vector<int64_t>{2, 8}));
  EXPECT_TRUE(same(batch.padding.logical_not().sum(1), torch::tensor({2, 5})));
  const models::TokenBatch cut = batch_of(set, all_of(set), {.padded_to = 3});
  EXPECT_TRUE(same(cut.ids, ids_of({1, 2, 0, 11, 12, 13}, 3)));
}

TEST(TokenBatches, AnEmptySequenceIsPaddingAlone) {
  const data::TokenSet set = numbered_tokens({0});
  const models::TokenBatch batch = batch_of(set, all_of(set), {});
  EXPECT_EQ(batch.ids.sizes(), (std::vector<int64_t>{1, 1}));
  EXPECT_TRUE(batch.padding.all().item<bool>());
}

TEST(TokenBatches, OfPairsTheFirstSequencesComeFirst) {
  data::TokenSet set{.per_example = 2};
  set.add(0, Bytes{1}, Bytes{2, 3});
  set.add(1, Bytes{4, 5, 6}, Bytes{7});
  const models::TokenBatch batch = batch_of(set, all_of(set), {});
  EXPECT_TRUE(same(batch.ids, ids_of({2, 0, 0, 5, 6, 7, 3, 4, 0, 8, 0, 0}, 3)));
  EXPECT_TRUE(same(batch.padding.logical_not().sum(1), torch::tensor({1, 3, 2, 1})));
}

// Token 0 is a black pixel. Published, it has the id of padding and is masked.
TEST(TokenBatches, BlackIsAPixelOrPadding) {
  data::TokenSet set;
  set.add(0, Bytes{0, 255, 0, 7});
  const models::TokenBatch pixels = batch_of(set, all_of(set), {});
  EXPECT_TRUE(same(pixels.ids, ids_of({1, 256, 1, 8}, 4)));
  EXPECT_FALSE(pixels.padding.any().item<bool>());
  const models::TokenBatch masked = batch_of(set, all_of(set), {.first_id = 0, .zero_is_padding = true});
  EXPECT_TRUE(same(masked.ids, ids_of({0, 255, 0, 7}, 4)));
  EXPECT_TRUE(same(masked.padding, ids_of({1, 0, 1, 0}, 4).to(torch::kBool)));
}

TEST(TokenBatches, AnExampleCostsWhatItIsPaddedTo) {
  const data::TokenSet set = numbered_tokens({2, 5});
  EXPECT_EQ(padded_tokens(set, 1, {}), 5);
  EXPECT_EQ(padded_tokens(set, 1, {.padded_to = 8}), 8);
  data::TokenSet pairs{.per_example = 2};
  pairs.add(0, Bytes{1}, Bytes{2, 3, 4});
  EXPECT_EQ(padded_tokens(pairs, 0, {}), 6) << "both are as wide as the longer";
}

// [examples] of each group -> tokens of the batch that it makes.
int64_t tokens_together(const data::TokenSet& set, const std::vector<int64_t>& group, const TokenCoding& coding) {
  return batch_of(set, group, coding).ids.numel();
}

TEST(TokenBatches, GroupsHaveEveryExampleOnceAndFitIntoMemory) {
  constexpr int64_t kMost = 65536;
  std::vector<int> lengths;
  for (int i = 0; i < 500; ++i) lengths.push_back(1 + (i * 7919) % 4000);
  const data::TokenSet set = numbered_tokens(lengths);
  int64_t batches = 0;
  for (const TokenCoding& coding : {TokenCoding{}, TokenCoding{.padded_to = 4096}}) {
    const auto groups = evaluation_groups(set, all_of(set), coding);
    std::vector<int64_t> seen;
    for (const auto& group : groups) {
      EXPECT_LE(tokens_together(set, group, coding), kMost);
      seen.insert(seen.end(), group.begin(), group.end());
    }
    EXPECT_TRUE(std::ranges::is_permutation(seen, all_of(set)));
    if (coding.padded_to == 0) batches = std::ssize(groups);
  }
  EXPECT_LT(batches, 20) << "a million tokens, with little padding between those of about the same length";
}

TEST(TokenBatches, AnExampleThatIsTooLongIsAGroupOfItsOwn) {
  data::TokenSet set{.classes = {"a"}};
  set.add(0, Bytes(100000, 1));
  set.add(0, Bytes(3, 1));
  const auto groups = evaluation_groups(set, all_of(set), {});
  EXPECT_EQ(groups, (std::vector<std::vector<int64_t>>{{1}, {0}}));
  EXPECT_TRUE(evaluation_groups(set, {}, {}).empty());
}

TEST(TokenBatches, GroupsOfPairsCountBothSequences) {
  data::TokenSet set{.per_example = 2, .classes = {"a"}};
  for (int i = 0; i < 40; ++i) set.add(0, Bytes(4000, 1), Bytes(10, 1));
  for (const auto& group : evaluation_groups(set, all_of(set), {})) EXPECT_LE(tokens_together(set, group, {}), 65536);
}

}  // namespace
}  // namespace primal::tasks
