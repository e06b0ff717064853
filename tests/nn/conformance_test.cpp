// The worked examples of the method: a layer of width 4, 2 heads and rank 2 on 4 tokens, with every number on a grid.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <vector>

#include "primal/attention.h"
#include "support/tensors.h"

namespace primal {
namespace {

using tests::close;
using torch::Tensor;

// (((7k + offset) mod 11) - 5) / 10 for the row-major index k
Tensor grid(at::IntArrayRef shape, int64_t offset) {
  const int64_t numbers = c10::multiply_integers(shape);
  return ((torch::arange(numbers) * 7 + offset).remainder(11) - 5).to(torch::kDouble).div(10).view(shape);
}

Tensor rows(const std::vector<double>& values, at::IntArrayRef shape) {
  return torch::tensor(values, torch::kDouble).view(shape);
}

struct Example {
  PrimalAttention layer;
  Tensor x = grid({1, 4, 4}, 3);

  explicit Example(bool causal)
      : layer(PrimalAttentionOptions{.width = 4, .heads = 2, .rank = 2, .rows = 3, .causal = causal}) {
    const torch::NoGradGuard no_grad;
    layer->to(torch::kDouble);
    for (auto& parameter : layer->parameters()) parameter.zero_();
    layer->q_proj->weight.copy_(grid({4, 4}, 1));
    layer->k_proj->weight.copy_(grid({4, 4}, 2));
    layer->we.copy_(grid(layer->we.sizes(), 4));
    layer->wr.copy_(grid(layer->wr.sizes(), 5));
    layer->lam.copy_(grid({2, 2}, 6) + 0.5);
    layer->score_proj->weight.copy_(grid({2, 4}, 7));
    layer->score_proj->bias.copy_(grid({2}, 8));
    layer->out_proj->weight.copy_(grid({4, 4}, 9));
  }

  void expect(const Tensor& out, const Tensor& e_head_0, const Tensor& r_head_1, double le, double lr, double tr,
              double j) {
    const AttentionOutput result = layer->forward(x);
    const AttentionScoreOutput scores = layer->scores(x);
    constexpr double kSixDigits = 5e-7, kEightDigits = 5e-9;
    EXPECT_TRUE(close(result.out, out, kSixDigits));
    EXPECT_TRUE(close(scores.e[0][0], e_head_0, kSixDigits));
    EXPECT_TRUE(close(scores.r[0][1], r_head_1, kSixDigits));
    EXPECT_NEAR(result.terms.le.item<double>(), le, kEightDigits);
    EXPECT_NEAR(result.terms.lr.item<double>(), lr, kEightDigits);
    EXPECT_NEAR(result.terms.tr.item<double>(), tr, 1e-12);
    EXPECT_NEAR(result.terms.objective().item<double>(), j, kEightDigits);
    EXPECT_NEAR(ksvd_loss({result.terms}, 1.0).item<double>(), j * j, kEightDigits);
  }
};

TEST(Conformance, TheGridIsTheDocumentedOne) {
  EXPECT_TRUE(close(grid({4, 4}, 3),
                    rows({-.2, .5, .1, -.3, .4, 0, -.4, .3, -.1, -.5, .2, -.2, .5, .1, -.3, .4}, {4, 4}), 1e-15));
  EXPECT_TRUE(close(grid({2, 2}, 6) + 0.5, rows({.6, .2, .9, .5}, {2, 2}), 1e-15));
}

TEST(Conformance, DataDependentLayer) {
  const Tensor out = rows({0.093004, 0.099514, 0.108897, 0.115407,    //
                           -0.188296, 0.079306, -0.122266, 0.145336,  //
                           0.047541, 0.121849, 0.083883, 0.158191,    //
                           -0.183287, 0.087084, -0.117993, 0.152378},
                          {1, 4, 4});
  const Tensor e = rows({0.332928, 0.140627, -0.332039, 0.009487, -0.064501, -0.248790, -0.348645, -0.048635}, {4, 2});
  const Tensor r = rows({-0.277010, 0.263464, 0.304568, -0.291109, -0.076822, 0.075542, 0.302076, -0.288834}, {4, 2});
  Example(/*causal=*/false).expect(out, e, r, 0.02255327, 0.01821127, 0.275, -0.23423546);
}

TEST(Conformance, CausalLayer) {
  const Tensor out = rows({-0.094390, 0.136710, -0.083284, 0.147816,  //
                           0.058017, -0.029954, 0.087996, 0.000024,   //
                           0.065399, 0.018661, 0.087046, 0.040308,    //
                           0.072211, -0.033624, 0.131139, 0.025304},
                          {1, 4, 4});
  const Tensor e = rows({-0.156823, -0.413910, -0.223565, -0.034395, -0.197621, -0.290619, 0.039062, 0.536217}, {4, 2});
  const Tensor r = rows({-0.345416, -0.060956, -0.483141, 0.505440, -0.526965, 0.443760, -0.014274, 0.399667}, {4, 2});
  Example(/*causal=*/true).expect(out, e, r, 0.04192560, 0.04644874, 0.155, -0.06662567);
}

}  // namespace
}  // namespace primal
