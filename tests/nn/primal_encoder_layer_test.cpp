// The public layer against the one inside the networks, which any kind of attention may have.
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <sstream>

#include "nn/encoder_layer.h"
#include "primal/encoder_layer.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal {
namespace {

using tests::close;
using tests::error_of;
using torch::Tensor;

constexpr int64_t kWidth = 24;

EncoderLayerOptions small() {
  return {.attention = {.width = kWidth, .heads = 3, .rank = 5, .rows = 7}, .feed_forward = 31};
}

EncoderLayer layer_of(EncoderLayerOptions options) {
  torch::manual_seed(2);
  return EncoderLayer(std::move(options));
}

nn::EncoderLayer inner_twin(const EncoderLayerOptions& o) {
  torch::manual_seed(2);
  return nn::EncoderLayer(nn::EncoderLayerOptions{
      .attention = {.width = kWidth, .heads = 3, .causal = o.attention.causal, .primal = {.rank = 5, .rows = 7}},
      .feed_forward = o.feed_forward,
      .dropout = o.dropout,
      .norm_first = o.norm_first,
      .activation = o.activation});
}

TEST(PublicEncoderLayer, IsTheLayerOfTheNetworks) {
  const Tensor x = torch::randn({3, 40, kWidth}), padding = padding_mask(torch::tensor({40, 11, 1}), 40);
  for (const bool norm_first : {false, true}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(c10::str("norm_first ", norm_first, ", causal ", causal));
      EncoderLayerOptions options = small();
      options.norm_first = norm_first;
      options.attention.causal = causal;
      options.activation = Activation::relu;
      options.dropout = 0.3;
      EncoderLayer layer = layer_of(options);
      nn::EncoderLayer twin = inner_twin(options);
      const auto names = layer->named_parameters().keys();
      EXPECT_EQ(names, twin->named_parameters().keys());
      torch::manual_seed(7);  // of the dropout
      const auto [out, terms] = layer->forward(x, {.padding = padding, .unread = padding});
      torch::manual_seed(7);
      const auto expected = twin->forward(x, {padding, padding});
      EXPECT_TRUE(at::equal(out, expected.out));
      EXPECT_TRUE(at::equal(terms.objective(), expected.terms->objective()));
    }
  }
}

TEST(PublicEncoderLayer, StepIsTheSameAsTheFullCausalPass) {
  const Tensor x = torch::randn({2, 9, kWidth});
  for (const bool norm_first : {false, true}) {
    EncoderLayerOptions options = small();
    options.norm_first = norm_first;
    options.attention.causal = true;
    options.dropout = 0.5;  // which decoding has not, whatever the mode
    EncoderLayer layer = layer_of(options);
    State state = layer->initial_state(2);
    std::vector<Tensor> steps;
    for (int64_t i = 0; i < 9; i += 3) steps.push_back(layer->step(x.narrow(1, i, 3), state));
    layer->eval();
    EXPECT_TRUE(close(at::cat(steps, 1), layer->forward(x).out, 1e-5));
  }
}

TEST(PublicEncoderLayer, UsesTheModulesThatItHas) {
  EncoderLayer layer = layer_of(small());
  const Tensor x = torch::randn({2, 9, kWidth});
  const Tensor before = layer->forward(x).out;
  layer->linear1 = layer->replace_module("linear1", torch::nn::Linear(kWidth, 31));
  EXPECT_FALSE(close(layer->forward(x).out, before, 1e-3));
}

// The operator has one epsilon for both.
TEST(PublicEncoderLayer, EachNormHasItsOwnEpsilon) {
  EncoderLayer layer = layer_of(small()), twin = layer_of(small());
  layer->norm2->options.eps(0.5);
  twin->norm2->options.eps(0.5);
  twin->to(torch::kFloat64);
  const Tensor x = torch::randn({2, 9, kWidth});
  EXPECT_TRUE(close(layer->forward(x).out, twin->forward(x.to(torch::kFloat64)).out.to(torch::kFloat32), 1e-5));
}

TEST(PublicEncoderLayer, CloneSharesNothing) {
  EncoderLayer layer = layer_of(small());
  const Tensor x = torch::randn({2, 9, kWidth});
  const Tensor before = layer->forward(x).out;
  EncoderLayer twin(std::dynamic_pointer_cast<EncoderLayerImpl>(layer->clone()));
  EXPECT_TRUE(at::equal(twin->forward(x).out, before));
  layer->reset_parameters();
  EXPECT_TRUE(at::equal(twin->forward(x).out, before));
  EXPECT_FALSE(close(layer->forward(x).out, before, 1e-3));
}

TEST(PublicEncoderLayer, RefusesWhatDoesNotFit) {
  EncoderLayerOptions options = small();
  options.feed_forward = 0;
  EXPECT_EQ(error_of([&] { EncoderLayer{options}; }), "encoder_layer: feed_forward must be at least 1, got 0");
  options = small();
  options.dropout = 1;
  EXPECT_EQ(error_of([&] { EncoderLayer{options}; }), "encoder_layer: dropout must be in [0, 1), got 1");
  EncoderLayer layer(small());
  EXPECT_EQ(error_of([&] { layer->initial_state(2); }), "encoder_layer: only a causal layer has a state");
  EXPECT_NE(error_of([&] { layer->forward(torch::randn({2, 9, 20})); }).find("20"), std::string::npos);
}

TEST(PublicEncoderLayer, PrintsItsOptions) {
  std::ostringstream text;
  text << EncoderLayer(small());
  EXPECT_NE(text.str().find("primal::EncoderLayer(feed_forward=31, dropout=0, norm_first=false, activation=gelu)"),
            std::string::npos)
      << text.str();
}

}  // namespace
}  // namespace primal
