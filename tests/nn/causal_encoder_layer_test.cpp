// A causal encoder layer as one operator, with running and with fading means.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <limits>
#include <vector>

#include "nn/encoder_layer.h"
#include "ops/encoder_layer/encoder_layer.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

struct CausalCase {
  bool norm_first = true;
  Padding padding = Padding::respect;
  bool padded = false;
  int64_t kernel = 0;
  Memory memory = Memory::mean;
  double dropout = 0;
  bool unread = false;
  bool recompute = false;
};

EncoderLayer layer_of(const CausalCase& given, bool fused) {
  torch::manual_seed(3);
  return EncoderLayer(
      EncoderLayerOptions{.attention = {.kind = "primal",
                                        .width = 32,
                                        .heads = 2,
                                        .causal = true,
                                        .padding = given.padding,
                                        .primal = {.rank = 5, .memory = given.memory, .memory_tokens = 20}},
                          .feed_forward = 48,
                          .dropout = given.dropout,
                          .norm_first = given.norm_first,
                          .activation = Activation::relu,
                          .recompute = given.recompute,
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
  if (given.unread) masks.unread = (torch::arange(3 * 70) % 3 == 0).view({3, 70});
  torch::manual_seed(7);  // of dropout
  const auto [out, terms] = layer->forward(x, masks);
  const torch::Tensor weights = torch::linspace(-1, 1, out.numel()).view(out.sizes());
  torch::Tensor loss = (out * weights).sum() + terms->le.sum() - 2 * terms->lr.sum() + terms->tr.sum();
  loss.backward();
  std::vector<torch::Tensor> all{out.detach(), terms->le.detach(), terms->lr.detach(), terms->tr.detach(), x.grad()};
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
  layer->eval();  // no dropout
  const torch::Tensor x = torch::randn({3, 70, 32}), other = x.clone();
  other.narrow(1, 50, 20).normal_();
  const auto before = layer->forward(x).out, after = layer->forward(other).out;
  EXPECT_TRUE(tests::same(before.narrow(1, 0, 50), after.narrow(1, 0, 50)));
  EXPECT_FALSE(tests::same(before, after));
}

TEST_P(CausalEncoderLayer, RecomputingAndThreadsChangeNoBit) {
  CausalCase again = GetParam();
  again.recompute = true;
  EncoderLayer keeping = layer_of(GetParam(), /*fused=*/true), recomputing = layer_of(again, /*fused=*/true);
  const torch::Tensor x = torch::randn({3, 70, 32});
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const auto a = everything(keeping, x, GetParam());
  at::set_num_threads(3);
  const auto b = everything(recomputing, x, again);
  at::set_num_threads(before);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(tests::same(a[i], b[i])) << "tensor " << i;
}

std::vector<CausalCase> cases() {
  std::vector<CausalCase> all;
  for (const Memory memory : {Memory::mean, Memory::decay}) {
    for (CausalCase given :
         {CausalCase{}, CausalCase{.norm_first = false}, CausalCase{.padded = true},
          CausalCase{.norm_first = false, .padded = true}, CausalCase{.padding = Padding::ignore, .padded = true},
          CausalCase{.norm_first = false, .padding = Padding::ignore, .padded = true},
          CausalCase{.padded = true, .kernel = 3}, CausalCase{.dropout = 0.3},
          CausalCase{.norm_first = false, .padded = true, .dropout = 0.3}, CausalCase{.padded = true, .unread = true},
          CausalCase{.norm_first = false, .dropout = 0.3, .unread = true},
          CausalCase{.padded = true, .kernel = 3, .dropout = 0.3, .unread = true}}) {
      given.memory = memory;
      all.push_back(given);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cases, CausalEncoderLayer, testing::ValuesIn(cases()));

class CausalEncoderLayerPadding : public testing::TestWithParam<Memory> {};

TEST_P(CausalEncoderLayerPadding, MayHoldAnythingEvenNaN) {
  const CausalCase given{.padded = true, .memory = GetParam()};
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

INSTANTIATE_TEST_SUITE_P(Memories, CausalEncoderLayerPadding, testing::Values(Memory::mean, Memory::decay));

TEST(CausalEncoderLayerOperator, WantsTimeScalesThatHeadsShare) {
  const auto numbers = [](at::IntArrayRef sizes) { return torch::randn(sizes); };
  ops::AttentionArguments a;
  a.query = numbers({2, 5, 12});
  a.q_weight = a.k_weight = a.out_weight = numbers({12, 12});
  a.we = a.wr = numbers({3, 4, 2});
  a.lam = torch::ones({3, 2});
  a.score_weight = numbers({4, 4});
  a.log_scale = numbers({3});
  a.mode.causal = true;
  a.mode.data_dependent = false;
  const ops::EncoderLayerParameters p{numbers({12}),    numbers({12}), numbers({12}),    numbers({12}),
                                      numbers({7, 12}), numbers({7}),  numbers({12, 7}), numbers({12})};
  EXPECT_TRUE(ops::has_encoder_layer(a));
  EXPECT_EQ(ops::encoder_layer(a, p, {}).out.size(1), 5);
  a.log_scale = numbers({4});
  EXPECT_FALSE(ops::has_encoder_layer(a));
  EXPECT_THROW(ops::encoder_layer(a, p, {}), c10::ValueError);
}

}  // namespace
}  // namespace primal::nn
