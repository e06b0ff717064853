#include "models/behaviour_cloning.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <limits>
#include <memory>

#include "support/errors.h"
#include "support/tensors.h"

namespace primal::models {
namespace {

using tests::close;
using tests::error_of;
using torch::Tensor;

constexpr int64_t kCloningStates = 4;

BehaviourCloning cloning_model(const CloningOptions& options) {
  torch::manual_seed(3);
  BehaviourCloning model(options);
  model->eval();
  return model;
}

CloningOptions small_cloning(int64_t steps = 1) {
  return {.states = kCloningStates, .actions = 2, .steps = steps, .width = 8};
}

Tensor plain_map(BehaviourCloningImpl& model, size_t number, const Tensor& x) {
  const auto& map = *model.maps->ptr(number)->as<torch::nn::Linear>();
  return map.weight.mv(x) + map.bias;
}

// The action of one vector of states, map by map.
Tensor plain_action(BehaviourCloningImpl& model, const Tensor& seen) {
  Tensor x = plain_map(model, 0, seen).clamp_min(0);
  x = plain_map(model, 1, x).clamp_min(0);
  x = plain_map(model, 2, x).clamp_min(0);
  return plain_map(model, 3, x).tanh();
}

TEST(BehaviourCloning, AnActionIsFromItsStateAlone) {
  BehaviourCloning model = cloning_model(small_cloning());
  const Tensor states = torch::randn({2, 3, kCloningStates}), actions = model->forward(states);
  ASSERT_EQ(actions.sizes(), (std::vector<int64_t>{2, 3, 2}));
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t t = 0; t < 3; ++t) EXPECT_TRUE(close(actions[b][t], plain_action(*model, states[b][t]), 1e-5));
  }
}

TEST(BehaviourCloning, AnActionIsFromTheLastStatesOldestFirst) {
  BehaviourCloning model = cloning_model(small_cloning(/*steps=*/3));
  const Tensor states = torch::randn({1, 4, kCloningStates}), actions = model->forward(states);
  const Tensor none = torch::zeros({kCloningStates});
  EXPECT_TRUE(close(actions[0][0], plain_action(*model, at::cat({none, none, states[0][0]})), 1e-5));
  EXPECT_TRUE(close(actions[0][3], plain_action(*model, at::cat({states[0][1], states[0][2], states[0][3]})), 1e-5));
}

TEST(BehaviourCloning, WhateverStandsInPaddingLeavesNoTrace) {
  for (const int64_t steps : {1, 3}) {
    BehaviourCloning model = cloning_model(small_cloning(steps));
    const Tensor states = torch::randn({2, 6, kCloningStates});
    const Tensor padding = torch::arange(6).ge(4).expand({2, 6});
    const auto gradients = [&](double filler) {
      model->zero_grad();
      const Tensor actions = model->forward(states.masked_fill(padding.unsqueeze(-1), filler), padding);
      actions.narrow(1, 0, 4).square().sum().backward();
      std::vector<Tensor> all{actions};
      for (const Tensor& parameter : model->parameters()) all.push_back(parameter.grad().clone());
      return all;
    };
    const auto expected = gradients(0), actual = gradients(std::numeric_limits<double>::quiet_NaN());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i]));
  }
}

TEST(BehaviourCloning, DropoutIsForTrainingAlone) {
  BehaviourCloning model = cloning_model(small_cloning());
  const Tensor states = torch::randn({2, 3, kCloningStates});
  EXPECT_TRUE(at::equal(model->forward(states), model->forward(states)));
  model->train();
  EXPECT_FALSE(close(model->forward(states), model->forward(states), 1e-4));
}

TEST(BehaviourCloning, ACloneIsTheSameModelWithWeightsOfItsOwn) {
  BehaviourCloning model = cloning_model(small_cloning());
  const Tensor states = torch::randn({2, 3, kCloningStates}), actions = model->forward(states);
  const auto copy = std::dynamic_pointer_cast<BehaviourCloningImpl>(model->clone());
  EXPECT_TRUE(at::equal(copy->forward(states), actions));
  {
    const torch::NoGradGuard no_grad;
    for (Tensor& parameter : copy->parameters()) parameter.add_(0.1);
  }
  EXPECT_TRUE(at::equal(model->forward(states), actions));
  EXPECT_FALSE(close(copy->forward(states), actions, 1e-3));
}

TEST(BehaviourCloning, SizesThatMakeNoSenseAreRefused) {
  const auto refused = [](const auto& change) {
    CloningOptions options = small_cloning();
    change(options);
    return error_of([&] { BehaviourCloning model(options); });
  };
  EXPECT_EQ(refused([](auto& o) { o.states = 0; }), "behaviour_cloning: states must be at least 1, got 0");
  EXPECT_EQ(refused([](auto& o) { o.actions = 0; }), "behaviour_cloning: actions must be at least 1, got 0");
  EXPECT_EQ(refused([](auto& o) { o.steps = 0; }), "behaviour_cloning: steps must be at least 1, got 0");
  EXPECT_EQ(refused([](auto& o) { o.width = -2; }), "behaviour_cloning: width must be at least 1, got -2");
  EXPECT_EQ(refused([](auto& o) { o.layers = 0; }), "behaviour_cloning: layers must be at least 1, got 0");
  EXPECT_EQ(refused([](auto& o) { o.dropout = 1; }), "behaviour_cloning: dropout must be in [0, 1), got 1");
  BehaviourCloning model(small_cloning());
  EXPECT_EQ(error_of([&] {
              model->forward(torch::zeros({2, 3}));
            }),
            "behaviour_cloning: expected states [B, N, 4], got [2, 3]");
  EXPECT_EQ(error_of([&] {
              model->forward(torch::zeros({2, 3, 4}), torch::zeros({2, 2}, at::kBool));
            }),
            "behaviour_cloning: expected padding [2, 3], got [2, 2]");
}

}  // namespace
}  // namespace primal::models
