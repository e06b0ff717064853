// A causal encoder layer as one operator: the running means are taken before it, so that nothing in it is causal.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <limits>

#include "nn/encoder_layer.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

struct CausalCase {
  bool norm_first = true;
  Padding padding = Padding::respect;
  bool padded = false;
  int64_t kernel = 0;
};

EncoderLayer layer_of(const CausalCase& given, bool fused) {
  torch::manual_seed(3);
  return EncoderLayer(EncoderLayerOptions{
      .attention =
          {.kind = "primal", .width = 32, .heads = 2, .causal = true, .padding = given.padding, .primal = {.rank = 5}},
      .feed_forward = 48,
      .norm_first = given.norm_first,
      .activation = Activation::relu,
      .fused = fused,
      .kernel = given.kernel});
}

/// Output, terms and all gradients.
std::vector<torch::Tensor> everything(EncoderLayer& layer, torch::Tensor x, const CausalCase& given) {
  x = x.detach().requires_grad_();
  EncoderMasks masks;
  if (given.padded) {
    torch::Tensor padding = torch::zeros({3, 70}, torch::kBool);
    padding[1].narrow(0, 40, 30).fill_(true);
    padding[2].narrow(0, 0, 5).fill_(true);
    masks.padding = padding;
  }
  const auto [out, terms] = layer->forward(x, masks);
  const torch::Tensor weights = torch::linspace(-1, 1, out.numel()).view(out.sizes());
  torch::Tensor loss = (out * weights).sum() + terms->le.sum() - 2 * terms->lr.sum() + terms->tr.sum();
  loss.backward();
  std::vector<torch::Tensor> all{out.detach(), terms->le.detach(), terms->lr.detach(), x.grad()};
  for (const auto& item : layer->named_parameters()) all.push_back(item.value().grad());
  return all;
}

class CausalEncoderLayer : public testing::TestWithParam<CausalCase> {};

TEST_P(CausalEncoderLayer, FusedIsTheSameAsItsParts) {
  EncoderLayer fused = layer_of(GetParam(), /*fused=*/true), parts = layer_of(GetParam(), /*fused=*/false);
  torch::manual_seed(5);
  const torch::Tensor x = torch::randn({3, 70, 32});
  const auto a = everything(fused, x, GetParam()), b = everything(parts, x, GetParam());
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (!b[i].defined()) continue;
    const double scale = std::max(b[i].abs().max().item<double>(), 1e-3);
    EXPECT_LT((a[i] - b[i]).abs().max().item<double>() / scale, 2e-4) << "tensor " << i;
  }
}

TEST_P(CausalEncoderLayer, NoTokenFeelsALaterOne) {
  const torch::NoGradGuard no_grad;
  EncoderLayer layer = layer_of(GetParam(), /*fused=*/true);
  const torch::Tensor x = torch::randn({3, 70, 32}), other = x.clone();
  other.narrow(1, 50, 20).normal_();
  const auto before = layer->forward(x).out, after = layer->forward(other).out;
  EXPECT_TRUE(tests::same(before.narrow(1, 0, 50), after.narrow(1, 0, 50)));
  EXPECT_FALSE(tests::same(before, after));
}

INSTANTIATE_TEST_SUITE_P(Cases, CausalEncoderLayer,
                         testing::Values(CausalCase{}, CausalCase{.norm_first = false}, CausalCase{.padded = true},
                                         CausalCase{.norm_first = false, .padded = true},
                                         CausalCase{.padding = Padding::ignore, .padded = true},
                                         CausalCase{.padded = true, .kernel = 3}));

TEST(CausalEncoderLayerPadding, MayHoldAnythingEvenNaN) {
  const CausalCase given{.padded = true};
  EncoderLayer layer = layer_of(given, /*fused=*/true);
  torch::Tensor x = torch::randn({3, 70, 32});
  const auto before = everything(layer, x, given);
  layer->zero_grad();
  x[1].narrow(0, 40, 30).fill_(std::numeric_limits<float>::quiet_NaN());
  const auto after = everything(layer, x, given);
  EXPECT_TRUE(tests::same(before[0], after[0]));
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_FALSE(after[i].defined() && after[i].isnan().any().item<bool>()) << "tensor " << i;
  }
}

}  // namespace
}  // namespace primal::nn
