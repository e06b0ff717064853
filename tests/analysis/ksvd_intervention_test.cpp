#include "analysis/ksvd_intervention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "nn/encoder.h"
#include "nn/record.h"
#include "support/ksvd_solution.h"
#include "support/tensors.h"

namespace primal::analysis {
namespace {

using tests::close;
using torch::Tensor;

class KsvdInterventionTest : public testing::Test {
 protected:
  KsvdInterventionTest() {
    torch::manual_seed(1);
    encoder->to(torch::kDouble);
    encoder->eval();
    const auto calls = nn::record(*encoder, [&] { encoder(x); });
    attention = calls[0].attention;
    other = calls[1].attention;
  }

  Tensor run(const std::optional<Tensor>& mask = {}) {
    const torch::NoGradGuard no_grad;
    return encoder(x, nn::EncoderMasks{mask}).out;
  }
  Tensor run_with(InsteadOfScores instead, const std::optional<Tensor>& mask = {}) {
    const KsvdIntervention intervention(attention, instead);
    const Tensor out = run(mask);
    EXPECT_EQ(intervention.calls(), 1);
    return out;
  }

  nn::Encoder encoder{std::vector<nn::EncoderLayerOptions>{
      {.attention = {.width = 12, .heads = 2, .primal = {.rank = 3, .rows = 10}}, .feed_forward = 16},
      {.attention = {.width = 12, .heads = 2, .primal = {.rank = 3, .rows = 10}}, .feed_forward = 16}}};
  Tensor x = torch::randn({2, 14, 12}, torch::kDouble);
  std::shared_ptr<nn::Attention> attention, other;
};

TEST_F(KsvdInterventionTest, OtherScoresChangeTheOutputUntilItEnds) {
  const Tensor before = run();
  const Tensor best = run_with(InsteadOfScores::best_pairs), random = run_with(InsteadOfScores::random_directions);
  EXPECT_GT((best - before).abs().max().item<double>(), 1e-3);
  EXPECT_GT((random - best).abs().max().item<double>(), 1e-3);
  EXPECT_TRUE(tests::same(run(), before));
}

// At a solution the best pairs are the scores of the layer themselves.
TEST_F(KsvdInterventionTest, BestPairsAreNoChangeAtASolution) {
  x = x.narrow(0, 0, 1);
  tests::set_to_kernel_svd(*attention->primal(), x);
  const Tensor before = run();
  EXPECT_TRUE(close(run_with(InsteadOfScores::best_pairs), before, 1e-8));
  EXPECT_GT((run_with(InsteadOfScores::random_directions) - before).abs().max().item<double>(), 1e-3);
}

TEST_F(KsvdInterventionTest, NoScoresLeaveTheBiases) {
  const Tensor before = run();
  const Tensor without = run_with(InsteadOfScores::none);
  const torch::NoGradGuard no_grad;
  for (auto& weights : {attention->primal()->we, attention->primal()->wr}) weights.data().zero_();
  EXPECT_TRUE(close(run(), without, 1e-12));
  EXPECT_GT((before - without).abs().max().item<double>(), 1e-3);
}

TEST_F(KsvdInterventionTest, PaddingChangesNothing) {
  const Tensor padding = padding_mask(torch::tensor({14, 9}), 14);
  const Tensor before = run_with(InsteadOfScores::best_pairs, padding);
  x = x.masked_fill(padding.unsqueeze(-1), 7);
  const Tensor after = run_with(InsteadOfScores::best_pairs, padding);
  EXPECT_TRUE(close(after[1].narrow(0, 0, 9), before[1].narrow(0, 0, 9), 1e-10));
}

TEST_F(KsvdInterventionTest, AllPairsThereAreServeARankBeyondTheFeatures) {
  nn::Encoder wide(std::vector<nn::EncoderLayerOptions>{
      {.attention = {.width = 4, .heads = 2, .primal = {.rank = 5, .rows = 10}}, .feed_forward = 8}});
  const Tensor tokens = torch::randn({1, 6, 4});
  const auto layer = nn::record(*wide, [&] { wide(tokens); })[0].attention;
  const KsvdIntervention intervention(layer, InsteadOfScores::best_pairs);
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(wide(tokens).out.isfinite().all().item<bool>());
}

TEST_F(KsvdInterventionTest, OtherLayersAreErrors) {
  nn::Encoder wrong(std::vector<nn::EncoderLayerOptions>{
      {.attention = {.kind = "softmax", .width = 12, .heads = 2}, .feed_forward = 16},
      {.attention = {.width = 12, .heads = 2, .causal = true, .primal = {.rank = 3}}, .feed_forward = 16}});
  for (const auto& call : nn::record(*wrong, [&] { wrong(x.to(torch::kFloat32)); })) {
    EXPECT_THROW(KsvdIntervention(call.attention, InsteadOfScores::best_pairs), Error);
  }
}

}  // namespace
}  // namespace primal::analysis
