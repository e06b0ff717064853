// Our layers in LibTorch's containers.
#include "primal/sequential.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>

#include "support/errors.h"
#include "support/tensors.h"

namespace primal {
namespace {

using tests::close;
using tests::error_of;
using torch::Tensor;

constexpr int64_t kInputs = 12;

PrimalAttention attention() {
  return PrimalAttention(PrimalAttentionOptions{.width = kInputs, .heads = 3, .rank = 4, .rows = 5});
}

EncoderLayer encoder_layer() {
  return EncoderLayer(EncoderLayerOptions{.attention = attention()->options(), .feed_forward = 20});
}

TEST(AnyModule, TakesALayerWithOneArgumentOrTwo) {
  const Tensor x = torch::randn({2, 5, kInputs}), padding = padding_mask(torch::tensor({5, 2}), 5);
  PrimalAttention layer = attention();
  torch::nn::AnyModule any(layer);
  EXPECT_TRUE(at::equal(any.forward<AttentionOutput>(x).out, layer->forward(x).out));
  const AttentionInputs inputs{.query_padding = padding};
  EXPECT_TRUE(at::equal(any.forward<AttentionOutput>(x, inputs).out, layer->forward(x, inputs).out));

  EncoderLayer whole = encoder_layer();
  torch::nn::AnyModule any_whole(whole);
  EXPECT_TRUE(at::equal(any_whole.forward<AttentionOutput>(x).out, whole->forward(x).out));
  const EncoderLayerInputs masks{.padding = padding};
  EXPECT_TRUE(at::equal(any_whole.forward<AttentionOutput>(x, masks).out, whole->forward(x, masks).out));
}

TEST(Sequential, TakesALayerAsItsLastModule) {
  const Tensor x = torch::randn({2, 5, 7});
  torch::nn::Linear first(7, kInputs);
  EncoderLayer layer = encoder_layer();
  torch::nn::Sequential net(first, layer);
  EXPECT_TRUE(at::equal(net->forward<AttentionOutput>(x).out, layer->forward(first(x)).out));
}

TEST(Sequential, TakesLayersAnywhereAndGivesTheirTerms) {
  const Tensor x = torch::randn({2, 5, 7});
  torch::nn::Linear first(7, kInputs), last(kInputs, 3);
  EncoderLayer layer = encoder_layer();
  PrimalAttention inner = attention();
  torch::nn::Sequential net(first, TensorOutput(layer), TensorOutput(inner), last);
  const Tensor out = net->forward(x);
  const auto middle = layer->forward(first(x));
  const auto behind = inner->forward(middle.out);
  EXPECT_TRUE(at::equal(out, last(behind.out)));

  const auto terms = collect_terms(*net);
  ASSERT_EQ(terms.size(), 2);
  EXPECT_TRUE(at::equal(terms[0].objective(), middle.terms.objective()));
  EXPECT_TRUE(at::equal(terms[1].objective(), behind.terms.objective()));
  (out.sum() + ksvd_loss(terms, /*eta=*/0.1)).backward();
  EXPECT_GT(layer->attention->lam.grad().abs().sum().item<double>(), 0);
  EXPECT_EQ(error_of([&] { collect_terms(*net); }),
            "collect_terms: no TensorOutput of the model has been called since the last time");
}

TEST(Sequential, IsClonedWithItsLayers) {
  const Tensor x = torch::randn({2, 5, kInputs});
  EncoderLayer layer = encoder_layer();
  torch::nn::Sequential net{TensorOutput(layer)};
  const Tensor before = net->forward(x);
  const auto clone = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(net->clone());
  layer->reset_parameters();
  EXPECT_TRUE(at::equal(clone->forward(x), before));
  EXPECT_FALSE(close(net->forward(x), before, 1e-3));
}

}  // namespace
}  // namespace primal
