// Layers whose output is made of e alone or of r alone.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>

#include "primal/attention.h"
#include "primal/encoder_layer.h"
#include "support/attention.h"
#include "support/tensors.h"

namespace primal {
namespace {

using tests::close;
using tests::same;
using torch::Tensor;

PrimalAttentionOptions one_sided(Projections projections, bool causal = false) {
  return {.width = 12, .heads = 3, .rank = 4, .rows = 6, .causal = causal, .projections = projections};
}

// Where the scores that are seen stand among [e, r].
torch::indexing::Slice seen(Projections projections) {
  return projections == Projections::right ? torch::indexing::Slice(0, 4) : torch::indexing::Slice(4, 8);
}

// Gives `whole`, a layer of both, the weights of `part`, and no weight to the scores that `part` does not see.
void copy_weights(const torch::nn::Module& part, torch::nn::Module& whole, Projections projections) {
  const torch::NoGradGuard no_grad;
  auto theirs = whole.named_parameters();
  for (const auto& parameter : part.named_parameters()) {
    Tensor& other = theirs[parameter.key()];
    if (other.sizes() == parameter.value().sizes()) {
      other.copy_(parameter.value());
    } else {
      other.zero_();
      other.index({torch::indexing::Slice(), seen(projections)}).copy_(parameter.value());
    }
  }
}

class OneSidedAttention : public testing::TestWithParam<Projections> {
 protected:
  void SetUp() override { torch::manual_seed(5); }
};

TEST_P(OneSidedAttention, HasAWeightForWhatItSees) {
  PrimalAttention layer(one_sided(GetParam()));
  EXPECT_EQ(layer->score_proj->weight.sizes(), torch::IntArrayRef({4, 4}));
  EXPECT_EQ(layer->forward(torch::randn({2, 9, 12})).out.sizes(), torch::IntArrayRef({2, 9, 12}));
}

TEST_P(OneSidedAttention, AgreesWithItsFormula) {
  for (const bool causal : {false, true}) {
    tests::expect_agrees_with_plain_attention(tests::double_layer(one_sided(GetParam(), causal)), tests::plain_cosine,
                                              torch::randn({2, 9, 12}, torch::kDouble), {});
  }
}

TEST_P(OneSidedAttention, OfTwoSequencesAgreesWithItsFormula) {
  tests::expect_agrees_with_plain_attention(tests::double_layer(one_sided(GetParam())), tests::plain_cosine,
                                            torch::randn({2, 9, 12}, torch::kDouble),
                                            torch::randn({2, 7, 12}, torch::kDouble));
}

// In float the fused kernels run.
TEST_P(OneSidedAttention, IsALayerOfBothWithNoWeightForTheOtherScores) {
  for (const bool causal : {false, true}) {
    PrimalAttention part(one_sided(GetParam(), causal)), whole(one_sided(Projections::both, causal));
    copy_weights(*part, *whole, GetParam());
    const Tensor x = torch::randn({2, 9, 12});
    const AttentionOutput a = part->forward(x), b = whole->forward(x);
    EXPECT_TRUE(same(a.out, b.out));
    EXPECT_TRUE(same(a.terms.le, b.terms.le) && same(a.terms.lr, b.terms.lr) && same(a.terms.tr, b.terms.tr));
    a.out.square().sum().backward();
    b.out.square().sum().backward();
    EXPECT_TRUE(same(part->score_proj->weight.grad(),
                     whole->score_proj->weight.grad().index({torch::indexing::Slice(), seen(GetParam())})));
    EXPECT_TRUE(same(part->q_proj->weight.grad(), whole->q_proj->weight.grad()));
  }
}

TEST_P(OneSidedAttention, RunsInAnEncoderLayer) {
  EncoderLayer part(EncoderLayerOptions{.attention = one_sided(GetParam()), .feed_forward = 20, .dropout = 0});
  EncoderLayer whole(EncoderLayerOptions{.attention = one_sided(Projections::both), .feed_forward = 20, .dropout = 0});
  copy_weights(*part, *whole, GetParam());
  const Tensor x = torch::randn({2, 9, 12});
  const Tensor a = part->forward(x).out, b = whole->forward(x).out;
  EXPECT_TRUE(same(a, b));
  a.square().sum().backward();
  EXPECT_GT(part->attention->score_proj->weight.grad().abs().max().item<float>(), 0);
}

TEST_P(OneSidedAttention, DecodesTokenByToken) {
  PrimalAttention layer(one_sided(GetParam(), /*causal=*/true));
  const Tensor x = torch::randn({2, 6, 12});
  State state = layer->initial_state(2);
  std::vector<Tensor> steps;
  for (const Tensor& token : x.split(1, 1)) steps.push_back(layer->step(token, state));
  EXPECT_TRUE(close(torch::cat(steps, 1), layer->forward(x).out, 1e-5));
}

INSTANTIATE_TEST_SUITE_P(Sides, OneSidedAttention, testing::Values(Projections::right, Projections::left),
                         [](const auto& side) {
                           return std::string(side.param == Projections::right ? "Right" : "Left");
                         });

}  // namespace
}  // namespace primal
