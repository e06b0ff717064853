#include "models/sequence_classifier.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cmath>

#include "nn/record.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal::models {
namespace {

SequenceClassifierOptions small(Pooling pooling) {
  const nn::AttentionOptions primal{.width = 8, .heads = 2, .primal = {.rank = 3, .rows = 6}};
  const nn::AttentionOptions softmax{.kind = "softmax", .width = 8, .heads = 2};
  return {.channels = 2,
          .outputs = 3,
          .tokens = 12,
          .pooling = pooling,
          .layers = {{.attention = softmax, .feed_forward = 16}, {.attention = primal, .feed_forward = 16}}};
}

SeriesBatch batch_of(const torch::Tensor& x, const std::vector<int64_t>& lengths) {
  return {.x = x, .padding = padding_mask(torch::tensor(lengths), x.size(1))};
}

class SequenceClassifierTest : public testing::Test {
 protected:
  SequenceClassifierTest() { torch::manual_seed(1); }
};

TEST_F(SequenceClassifierTest, MeanPoolingDoesNotSeePadding) {
  SequenceClassifier model(small(Pooling::mean));
  model->eval();
  const torch::Tensor x = torch::randn({2, 7, 2});
  const torch::Tensor padded = at::cat({x, torch::full({2, 4, 2}, 1e3)}, 1);
  const torch::Tensor short_logits = model->forward(batch_of(x, {7, 5})).outputs;
  const torch::Tensor long_logits = model->forward(batch_of(padded, {7, 5})).outputs;
  EXPECT_TRUE(tests::close(long_logits, short_logits, 1e-5));
}

TEST_F(SequenceClassifierTest, WhateverStandsInPaddedStepsHasNoEffect) {
  for (const Pooling pooling : {Pooling::mean, Pooling::flatten}) {
    SequenceClassifierOptions options = small(pooling);
    options.kernel = 3;
    options.time = TimeInput::bochner;
    SequenceClassifier model(options);
    const torch::Tensor x = torch::randn({2, 12, 2});
    const torch::Tensor padding = padding_mask(torch::tensor({7, 5}), 12);
    const auto gradients = [&](double filler) {
      model->zero_grad();
      const SeriesBatch batch{.x = x.masked_fill(padding.unsqueeze(-1), filler),
                              .padding = padding,
                              .times = torch::arange(12.0).expand({2, 12}).masked_fill(padding, filler)};
      auto [outputs, terms] = model->forward(batch);
      (outputs.square().sum() + terms[0].le.sum()).backward();
      std::vector<torch::Tensor> all{outputs};
      for (const auto& parameter : model->parameters()) all.push_back(parameter.grad().clone());
      return all;
    };
    const auto expected = gradients(0), actual = gradients(std::nan(""));
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i]));
  }
}

TEST_F(SequenceClassifierTest, AKernelSeesItsNeighboursAndNoPadding) {
  SequenceClassifierOptions options = small(Pooling::mean);
  options.kernel = 5;
  SequenceClassifier model(options);
  model->eval();
  EXPECT_EQ(model->embedding->weight.sizes(), (std::vector<int64_t>{8, 10}));
  const torch::Tensor x = torch::randn({1, 7, 2});
  const torch::Tensor padded = at::cat({x, torch::zeros({1, 4, 2})}, 1);
  EXPECT_TRUE(
      tests::close(model->forward(batch_of(padded, {7})).outputs, model->forward(batch_of(x, {7})).outputs, 1e-5));
  // The embedding is a convolution.
  const torch::Tensor weight = model->embedding->weight.view({8, 2, 5});
  const torch::Tensor expected = at::conv1d(x.transpose(1, 2), weight, model->embedding->bias, 1, 2).transpose(1, 2);
  const torch::Tensor tokens = expected * std::sqrt(8.0) + model->positions.narrow(0, 0, 7);
  const auto records = nn::record(*model, [&] { model->forward(batch_of(x, {7})); });
  EXPECT_TRUE(tests::close(records[0].input, tokens, 1e-5));
  options.kernel = 4;
  EXPECT_EQ(tests::error_of([&] { SequenceClassifier even(options); }),
            "sequence_classifier: kernel must be odd and positive, got 4");
}

TEST_F(SequenceClassifierTest, FlattenWantsAllTokensAndMeanNoMore) {
  SequenceClassifier flatten(small(Pooling::flatten)), mean(small(Pooling::mean));
  EXPECT_EQ(tests::error_of([&] {
              flatten->forward(batch_of(torch::randn({1, 7, 2}), {7}));
            }),
            "sequence_classifier: the sequences have 7 tokens, the model 12");
  EXPECT_EQ(tests::error_of([&] {
              mean->forward(batch_of(torch::randn({1, 13, 2}), {13}));
            }),
            "sequence_classifier: the sequences have 13 tokens, the model 12");
}

TEST_F(SequenceClassifierTest, WithoutTimesTheStepsAreEven) {
  SequenceClassifierOptions options = small(Pooling::mean);
  options.time = TimeInput::bochner;
  SequenceClassifier model(options);
  model->eval();
  SeriesBatch batch = batch_of(torch::randn({1, 4, 2}), {4});
  const torch::Tensor even = model->forward(batch).outputs;
  batch.times = torch::tensor({{0.f, 1.f, 2.f, 3.f}});
  EXPECT_TRUE(tests::same(model->forward(batch).outputs, even));
  batch.times = torch::tensor({{0.f, 1.f, 2.f, 30.f}});
  EXPECT_FALSE(tests::close(model->forward(batch).outputs, even, 1e-4));
}

}  // namespace
}  // namespace primal::models
