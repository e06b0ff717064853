#include "primal/ksvd.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>
#include <vector>

#include "primal/attention.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal {
namespace {

using tests::error_of;
using tests::same;
using torch::Tensor;

Tensor numbers(const std::vector<double>& values) { return torch::tensor(values, torch::kDouble); }

// J = (1, -2, 4) and (0, 2, -3); all numbers are exact in binary
const std::vector<KsvdTerms> kLayers = {
    {numbers({1, 0.5, 4}), numbers({0.5, 0.5, 1}), numbers({0.5, 3, 1})},
    {numbers({1, 1, 0}), numbers({0, 1.5, 0}), numbers({1, 0.5, 3})},
};

TEST(Ksvd, ObjectiveIsLePlusLrMinusTr) {
  EXPECT_TRUE(same(kLayers[0].objective(), numbers({1, -2, 4})));
  EXPECT_TRUE(same(kLayers[1].objective(), numbers({0, 2, -3})));
}

TEST(Ksvd, PerSampleIsTheMeanOfTheSquares) {
  EXPECT_DOUBLE_EQ(ksvd_loss({kLayers[0]}, 1.0).item<double>(), (1.0 + 4 + 16) / 3);
  EXPECT_DOUBLE_EQ(ksvd_loss({kLayers[0]}, 1.0, KsvdReduction::per_sample).item<double>(), (1.0 + 4 + 16) / 3);
}

TEST(Ksvd, BatchMeanIsTheSquareOfTheMean) {
  EXPECT_DOUBLE_EQ(ksvd_loss({kLayers[0]}, 1.0, KsvdReduction::batch_mean).item<double>(), 1.0);
}

TEST(Ksvd, NoReductionGivesTheSquareOfEachSample) {
  EXPECT_TRUE(same(ksvd_loss({kLayers[0]}, 1.0, KsvdReduction::none), numbers({1, 4, 16})));
}

TEST(Ksvd, LayersAreAveragedAfterSquaring) {
  EXPECT_DOUBLE_EQ(ksvd_loss(kLayers, 1.0).item<double>(), (21.0 / 3 + 13.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(ksvd_loss(kLayers, 1.0, KsvdReduction::batch_mean).item<double>(), (1.0 + 1.0 / 9) / 2);
  EXPECT_TRUE(same(ksvd_loss(kLayers, 1.0, KsvdReduction::none), numbers({0.5, 4, 12.5})));
}

TEST(Ksvd, EtaScalesEveryReduction) {
  for (const auto reduction : {KsvdReduction::per_sample, KsvdReduction::batch_mean, KsvdReduction::none}) {
    EXPECT_TRUE(same(ksvd_loss(kLayers, 0.25, reduction), ksvd_loss(kLayers, 1.0, reduction) * 0.25));
  }
}

// d/dJ of eta / layers * mean J^2
TEST(Ksvd, LossIsDifferentiable) {
  const Tensor le = numbers({1, 0.5, 4}).requires_grad_(), tr = numbers({0.5, 3, 1}).requires_grad_();
  ksvd_loss({{le, numbers({0.5, 0.5, 1}), tr}, kLayers[1]}, 0.75).backward();
  EXPECT_TRUE(tests::close(le.grad(), numbers({0.25, -0.5, 1}), 1e-15));
  EXPECT_TRUE(tests::close(tr.grad(), numbers({-0.25, 0.5, -1}), 1e-15));
}

TEST(Ksvd, NoLayerIsAnError) {
  EXPECT_EQ(error_of([] { ksvd_loss({}, 0.1); }), "ksvd_loss: no layer given");
}

TEST(PaddingMask, IsTrueFromTheLengthOn) {
  const Tensor expected = torch::tensor({{0, 0, 0, 0}, {0, 1, 1, 1}, {1, 1, 1, 1}}).to(torch::kBool);
  for (const auto dtype : {torch::kLong, torch::kInt, torch::kByte}) {
    EXPECT_TRUE(same(padding_mask(torch::tensor({4, 1, 0}).to(dtype), 4), expected));
  }
}

TEST(PaddingMask, OfNoSamplesOrNoTokensIsEmpty) {
  EXPECT_EQ(padding_mask(torch::empty({0}, torch::kLong), 5).sizes(), (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(padding_mask(torch::zeros({2}, torch::kLong), 0).sizes(), (std::vector<int64_t>{2, 0}));
}

TEST(PaddingMask, WrongLengthsAreNamed) {
  EXPECT_EQ(error_of([] { padding_mask(torch::tensor({3, 9}), 5); }), "padding_mask: length 9 is above the 5 tokens");
  EXPECT_EQ(error_of([] { padding_mask(torch::tensor({3, -1}), 5); }), "padding_mask: length -1 is negative");
  EXPECT_EQ(error_of([] { padding_mask(torch::tensor({1.5f}), 5); }),
            "padding_mask: lengths must be integers [B], got Float [1]");
  EXPECT_EQ(error_of([] {
              padding_mask(torch::ones({2, 1}, torch::kLong), 5);
            }),
            "padding_mask: lengths must be integers [B], got Long [2, 1]");
  EXPECT_EQ(error_of([] { padding_mask(torch::ones({2}, torch::kBool), 5); }),
            "padding_mask: lengths must be integers [B], got Bool [2]");
}

}  // namespace
}  // namespace primal
