#include "ops/sampling.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/tensors.h"

namespace primal::ops {
namespace {

using at::Tensor;
using tests::contains;
using tests::error_of;
using tests::inner_product;
using tests::same;
using Positions = std::vector<int64_t>;

Positions first(const Positions& positions, size_t count) {
  return {positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(count)};
}

// One row of 0 and 1 per sample, 1 = padded.
Tensor mask(const std::vector<std::vector<int>>& rows) {
  std::vector<Tensor> tensors;
  for (const auto& row : rows) tensors.push_back(torch::tensor(row));
  return torch::stack(tensors).to(at::kBool);
}

Tensor rows_of(const std::vector<Positions>& rows) {
  std::vector<Tensor> tensors;
  for (const auto& row : rows) tensors.push_back(torch::tensor(row, at::kLong));
  return torch::stack(tensors);
}

// The published pairs of length and n.
TEST(EvenPositions, AreTheDocumentedOnes) {
  const Positions scp = even_positions(1751, 300, Sampling::exact),
                  list_ops = even_positions(2048, 200, Sampling::exact),
                  image = even_positions(1024, 300, Sampling::exact);
  EXPECT_EQ(first(scp, 8), (Positions{0, 5, 11, 17, 23, 29, 35, 40}));
  EXPECT_EQ(scp.back(), 1750);
  EXPECT_EQ(first(list_ops, 8), (Positions{0, 10, 20, 30, 41, 51, 61, 72}));
  EXPECT_EQ(list_ops.back(), 2047);
  EXPECT_EQ(first(image, 8), (Positions{0, 3, 6, 10, 13, 17, 20, 23}));
  EXPECT_EQ(image.back(), 1023);
}

TEST(LegacyPositions, AreThoseOfTheOldIntegerLinspace) {
  const Positions list_ops = even_positions(2048, 200, Sampling::legacy),
                  image = even_positions(1024, 300, Sampling::legacy);
  EXPECT_EQ(first(list_ops, 8), (Positions{0, 10, 20, 30, 41, 51, 61, 71}));
  EXPECT_EQ(list_ops.back(), 2046);
  EXPECT_EQ(first(image, 8), (Positions{0, 3, 6, 10, 13, 16, 19, 23}));

  const Positions exact = even_positions(896, 300, Sampling::exact),
                  legacy = even_positions(896, 300, Sampling::legacy);
  int differ = 0;
  for (size_t i = 0; i < exact.size(); ++i) differ += exact[i] != legacy[i] ? 1 : 0;
  EXPECT_EQ(differ, 217);
}

TEST(LegacyPositions, AreAtMostOneBelowTheExactOnes) {
  for (int64_t length = 1; length <= 400; length += 3) {
    for (int64_t n = 1; n <= 70; ++n) {
      const Positions exact = even_positions(length, n, Sampling::exact),
                      legacy = even_positions(length, n, Sampling::legacy);
      ASSERT_EQ(legacy.size(), static_cast<size_t>(n));
      for (size_t i = 0; i < exact.size(); ++i) {
        ASSERT_LE(legacy[i], exact[i]) << "length " << length << ", n " << n << ", i " << i;
        ASSERT_GE(legacy[i], std::max<int64_t>(exact[i] - 1, 0)) << "length " << length << ", n " << n << ", i " << i;
      }
    }
  }
}

TEST(LinspacePositions, AreThoseOfTheIntegerLinspaceOfToday) {
  for (int64_t length = 1; length <= 400; length += 3) {
    for (int64_t n = 1; n <= 70; ++n) {
      const Tensor expected = torch::linspace(0, length - 1, n, at::kLong);
      ASSERT_TRUE(same(torch::tensor(even_positions(length, n, Sampling::linspace), at::kLong), expected))
          << "length " << length << ", n " << n;
    }
  }
}

TEST(Sampling, HasAName) {
  EXPECT_EQ(sampling_of("exact"), Sampling::exact);
  EXPECT_EQ(sampling_of("linspace"), Sampling::linspace);
  EXPECT_EQ(sampling_of("legacy"), Sampling::legacy);
  const std::string message = error_of<c10::ValueError>([] { sampling_of("random"); });
  EXPECT_TRUE(contains(message, "sampling must be exact, linspace or legacy, got \"random\""));
}

TEST(EvenPositions, HitBothEndsAndAreSpreadEvenly) {
  for (int64_t length = 1; length <= 150; ++length) {
    for (int64_t n = 2; n <= 90; ++n) {
      const Positions positions = even_positions(length, n, Sampling::exact);
      ASSERT_EQ(positions.front(), 0) << "length " << length << ", n " << n;
      ASSERT_EQ(positions.back(), length - 1) << "length " << length << ", n " << n;
      const int64_t step = (length - 1) / (n - 1);
      for (size_t i = 1; i < positions.size(); ++i) {
        const int64_t gap = positions[i] - positions[i - 1];
        ASSERT_TRUE(gap == step || gap == step + 1) << "length " << length << ", n " << n << ", gap " << gap;
      }
    }
  }
}

TEST(EvenPositions, OneRowIsTheFirst) {
  for (const Sampling sampling : {Sampling::exact, Sampling::linspace, Sampling::legacy}) {
    EXPECT_EQ(even_positions(9, 1, sampling), Positions{0});
    EXPECT_EQ(even_positions(1, 3, sampling), (Positions{0, 0, 0}));
    EXPECT_EQ(even_positions(0, 3, sampling), (Positions{0, 0, 0}));
  }
}

TEST(EvenPositions, RepeatWhenThereAreMoreThanTokens) {
  EXPECT_EQ(even_positions(3, 7, Sampling::exact), (Positions{0, 0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(even_positions(5, 5, Sampling::exact), (Positions{0, 1, 2, 3, 4}));
}

TEST(SamplePositions, AreTheSameForAllWithoutAMask) {
  EXPECT_TRUE(same(sample_positions(9, std::nullopt, 5, Sampling::exact, at::kCPU), rows_of({{0, 2, 4, 6, 8}})));
}

TEST(SamplePositions, SpreadOverEachSamplesOwnLength) {
  const Tensor padded = torch::arange(40).unsqueeze(0) >= torch::tensor({40, 17, 1}).unsqueeze(1);
  for (const Sampling sampling : {Sampling::exact, Sampling::linspace, Sampling::legacy}) {
    const Tensor expected =
        rows_of({even_positions(40, 11, sampling), even_positions(17, 11, sampling), Positions(11, 0)});
    EXPECT_TRUE(same(sample_positions(40, padded, 11, sampling, at::kCPU), expected));
  }
}

TEST(SamplePositions, StepOverHoles) {
  const Tensor padded = mask({{1, 0, 0, 1, 1, 0, 0, 0, 1}, {0, 1, 1, 1, 1, 1, 1, 1, 0}});
  EXPECT_TRUE(same(sample_positions(9, padded, 3, Sampling::exact, at::kCPU), rows_of({{1, 5, 7}, {0, 0, 8}})));
}

TEST(SamplePositions, OfASampleWithoutTokensStayInside) {
  const Tensor positions = sample_positions(3, mask({{1, 1, 1}}), 4, Sampling::exact, at::kCPU);
  EXPECT_EQ(positions.sizes(), (std::vector<int64_t>{1, 4}));
  EXPECT_TRUE((positions >= 0).all().item<bool>() && (positions < 3).all().item<bool>());
}

TEST(AlignedPositions, AreTheIdentityForEqualLengths) {
  for (const int64_t length : {1, 2, 3, 64, 97}) {
    const Tensor expected = torch::arange(length).unsqueeze(0), none = torch::zeros({1, length}, at::kBool);
    EXPECT_TRUE(same(aligned_positions(length, std::nullopt, length, std::nullopt, at::kCPU), expected));
    EXPECT_TRUE(same(aligned_positions(length, none, length, none, at::kCPU), expected));
  }
}

TEST(AlignedPositions, SpreadTheQueriesOverTheKeys) {
  EXPECT_TRUE(same(aligned_positions(3, std::nullopt, 9, std::nullopt, at::kCPU), rows_of({{0, 4, 8}})));
  EXPECT_TRUE(same(aligned_positions(7, std::nullopt, 3, std::nullopt, at::kCPU), rows_of({{0, 0, 0, 1, 1, 1, 2}})));
  EXPECT_TRUE(same(aligned_positions(1, std::nullopt, 5, std::nullopt, at::kCPU), rows_of({{0}})));
}

TEST(AlignedPositions, CountOnlyTokensThatAreNotPadded) {
  const Tensor query_padded = mask({{0, 1, 0, 0}, {0, 0, 0, 1}}), key_padded = mask({{1, 0, 0, 1, 0}, {0, 0, 0, 0, 0}});
  const Tensor positions = aligned_positions(4, query_padded, 5, key_padded, at::kCPU);
  EXPECT_EQ(positions[0][0].item<int64_t>(), 1);  // padded queries stand beside any key: only the others are looked at
  EXPECT_EQ(positions[0][2].item<int64_t>(), 2);
  EXPECT_EQ(positions[0][3].item<int64_t>(), 4);
  EXPECT_TRUE(same(positions[1].slice(0, 0, 3), torch::tensor({0, 2, 4}, at::kLong)));
  EXPECT_TRUE(same(aligned_positions(2, std::nullopt, 5, key_padded, at::kCPU), rows_of({{1, 4}, {0, 4}})));
}

class TakeRows : public testing::TestWithParam<bool> {  // one row of positions for all, or one per sample
 protected:
  Tensor positions = GetParam() ? rows_of({{4, 0, 4, 2}}) : rows_of({{4, 0, 4, 2}, {1, 1, 1, 0}, {3, 2, 1, 0}});
};
INSTANTIATE_TEST_SUITE_P(OneRowOrEach, TakeRows, testing::Bool());

TEST_P(TakeRows, TakesTheRowsAtThePositions) {
  const Tensor x = torch::randn({3, 5, 2}), taken = take_rows(x, positions);
  ASSERT_EQ(taken.sizes(), (std::vector<int64_t>{3, 4, 2}));
  for (int64_t b = 0; b < 3; ++b) {
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(same(taken[b][i], x[b][positions[GetParam() ? 0 : b][i].item<int64_t>()]));
    }
  }
}

TEST_P(TakeRows, BackwardIsTheAdjoint) {
  const Tensor x = torch::randn({3, 5, 2}, at::kDouble), grad = torch::randn({3, 4, 2}, at::kDouble);
  EXPECT_NEAR(inner_product(take_rows(x, positions), grad), inner_product(x, take_rows_backward(grad, positions, 5)),
              1e-12);
}

TEST_P(TakeRows, OfAnEmptySequenceAreZero) {
  const Tensor taken = take_rows(torch::empty({3, 0, 2}), positions);
  EXPECT_TRUE(same(taken, torch::zeros({3, 4, 2})));
  EXPECT_EQ(take_rows_backward(taken, positions, 0).sizes(), (std::vector<int64_t>{3, 0, 2}));
}

}  // namespace
}  // namespace primal::ops
