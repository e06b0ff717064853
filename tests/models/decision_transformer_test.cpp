#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>
#include <memory>

#include "models/action_error.h"
#include "models/small_decision_transformer.h"
#include "support/tensors.h"

namespace primal::models {
namespace {

using tests::close;
using torch::Tensor;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

DecisionTransformer decision_model(const DecisionOptions& options) {
  torch::manual_seed(3);
  DecisionTransformer model(options);
  model->eval();
  return model;
}

// A fuller window: the same steps, and behind (or before) them what is none.
DecisionWindows padded_windows(const DecisionWindows& w, int64_t before, int64_t after, double filler) {
  const auto pad = [&](const Tensor& t, double value) {
    return t.dim() == 2 ? at::constant_pad_nd(t, {before, after}, value)
                        : at::constant_pad_nd(t, {0, 0, before, after}, value);
  };
  return {.states = pad(w.states, filler),
          .actions = pad(w.actions, filler),
          .returns_to_go = pad(w.returns_to_go, filler),
          .timesteps = pad(w.timesteps, 0),
          .padding = pad(torch::zeros(w.timesteps.sizes(), at::kBool), 1)};
}

// All actions of episodes that begin with the windows, step by step. timesteps of the windows: from 0 on
Tensor acted(DecisionTransformerImpl& model, const DecisionWindows& w) {
  DecisionState state = model.initial_state(w.states.size(0));
  std::vector<Tensor> actions;
  for (int64_t t = 0; t < w.states.size(1); ++t) {
    DecisionStep now{.returns_to_go = w.returns_to_go.select(1, t), .states = w.states.select(1, t)};
    if (t > 0) now.previous_actions = w.actions.select(1, t - 1);
    actions.push_back(model.step(now, state));
  }
  EXPECT_EQ(state.timestep, w.states.size(1));
  return at::stack(actions, 1);
}

// What the embeddings of a window's tokens are, one number after the other.
Tensor plain_tokens(DecisionTransformerImpl& model, const DecisionWindows& w) {
  std::vector<Tensor> tokens;
  for (int64_t t = 0; t < w.states.size(1); ++t) {
    const Tensor row = model.embed_timestep->weight.index_select(0, w.timesteps.select(1, t));
    const auto token = [&](torch::nn::Linear& map, const Tensor& x) { tokens.push_back(map(x) + row); };
    token(model.embed_return, w.returns_to_go.select(1, t).unsqueeze(-1));
    token(model.embed_state, w.states.select(1, t));
    token(model.embed_action, w.actions.select(1, t));
  }
  return model.embed_norm(at::stack(tokens, 1));
}

class DecisionTransformerTest : public testing::Test {
 protected:
  DecisionTransformerTest() { torch::manual_seed(1); }
};

class DecisionTransformerForms : public testing::TestWithParam<SmallDecision> {
 protected:
  DecisionTransformerForms() { torch::manual_seed(1); }
};

TEST_P(DecisionTransformerForms, StepsAreTheFullPass) {
  const torch::NoGradGuard no_grad;
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    DecisionTransformer model = decision_model(small_decision(GetParam()));
    model->to(dtype);
    DecisionWindows w = random_windows(3, 20, dtype);
    w.timesteps = torch::arange(20).expand({3, 20});
    EXPECT_TRUE(close(acted(*model, w), model->forward(w).actions, dtype == at::kFloat ? 1e-5 : 1e-10));
  }
}

TEST_P(DecisionTransformerForms, TheLastActionAloneIsThatOfTheFullPass) {
  const torch::NoGradGuard no_grad;
  DecisionTransformer model = decision_model(small_decision(GetParam()));
  const DecisionWindows windows = random_windows(3, 7);
  EXPECT_TRUE(close(model->last_action(windows), model->forward(windows).actions.select(1, -1), 1e-5));
  const DecisionWindows padded = padded_windows(windows, 2, 0, kNotANumber);
  EXPECT_TRUE(close(model->last_action(padded), model->last_action(windows), 1e-5));
}

TEST_P(DecisionTransformerForms, AnActionKnowsNothingOfWhatComesAfterItsState) {
  const torch::NoGradGuard no_grad;
  DecisionTransformer model = decision_model(small_decision(GetParam()));
  const DecisionWindows w = random_windows(2, 9);
  const Tensor actions = model->forward(w).actions;
  DecisionWindows other = w;
  const auto changed = [](const Tensor& t, int64_t from) {
    Tensor copy = t.clone();
    copy.slice(1, from).add_(1);
    return copy;
  };
  other.actions = changed(w.actions, 5);  // that of the step itself is already too late
  other.states = changed(w.states, 6);
  other.returns_to_go = changed(w.returns_to_go, 6);
  other.timesteps = changed(w.timesteps, 6);
  const Tensor others = model->forward(other).actions;
  EXPECT_TRUE(close(others.slice(1, 0, 6), actions.slice(1, 0, 6), 1e-6));
  EXPECT_FALSE(close(others.slice(1, 6), actions.slice(1, 6), 1e-4));
}

TEST_P(DecisionTransformerForms, PaddingLeavesNoTraceWhateverStandsInIt) {
  const torch::NoGradGuard no_grad;
  DecisionTransformer model = decision_model(small_decision(GetParam()));
  const DecisionWindows w = random_windows(3, 7);
  const DecisionOutput plain = model->forward(w);
  for (const auto& [before, after] : {std::pair{0, 1}, {0, 6}, {5, 0}, {2, 3}}) {
    for (const double filler : {0.0, -10.0, kNotANumber}) {
      const DecisionOutput padded = model->forward(padded_windows(w, before, after, filler));
      EXPECT_TRUE(close(padded.actions.narrow(1, before, 7), plain.actions, 1e-5)) << before << " " << after;
      EXPECT_TRUE(padded.actions.isfinite().all().item<bool>());
      ASSERT_EQ(padded.terms.size(), plain.terms.size());
      for (size_t i = 0; i < plain.terms.size(); ++i) {
        EXPECT_TRUE(close(padded.terms[i].objective(), plain.terms[i].objective(), 1e-5));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DecisionTransformerForms,
                         testing::Values(SmallDecision{}, SmallDecision{.kinds = {"softmax"}},
                                         SmallDecision{.kinds = {"primal", "primal"}}, SmallDecision{.all_heads = true},
                                         SmallDecision{.kinds = {"primal"}, .memory = Memory::decay},
                                         SmallDecision{.kinds = {"primal", "softmax", "primal"}, .kernel = 3},
                                         SmallDecision{.kinds = {"flow", "linear", "window"}}));

TEST_F(DecisionTransformerTest, ParametersHaveTheNamesThatFilesHave) {
  std::vector<std::string> names;
  for (const auto& parameter : DecisionTransformer(small_decision({.all_heads = true}))->named_parameters()) {
    if (!parameter.key().starts_with("encoder.layers.")) names.push_back(parameter.key());
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "embed_timestep.weight", "embed_return.weight", "embed_return.bias", "embed_state.weight",
                "embed_state.bias", "embed_action.weight", "embed_action.bias", "embed_norm.weight", "embed_norm.bias",
                "encoder.norm.weight", "encoder.norm.bias", "predict_action.weight", "predict_action.bias",
                "predict_state.weight", "predict_state.bias", "predict_return.weight", "predict_return.bias"}));
  EXPECT_TRUE(DecisionTransformer(small_decision())->predict_state.is_empty());
}

TEST_F(DecisionTransformerTest, ActionsComeFromTheStatesAndTheOtherHeadsFromTheActions) {
  const torch::NoGradGuard no_grad;
  DecisionTransformer model = decision_model(small_decision({.all_heads = true}));
  const DecisionWindows w = random_windows(2, 4);
  const Tensor features = model->encoder(plain_tokens(*model, w)).out;
  const auto [actions, states, returns, terms] = model->forward(w);
  for (int64_t t = 0; t < 4; ++t) {
    const Tensor of_state = features.select(1, 3 * t + 1), of_action = features.select(1, 3 * t + 2);
    EXPECT_TRUE(close(actions.select(1, t), model->predict_action(of_state).tanh(), 1e-5));
    EXPECT_TRUE(close(states.select(1, t), model->predict_state(of_action), 1e-5));
    EXPECT_TRUE(close(returns.select(1, t), model->predict_return(of_action).squeeze(-1), 1e-5));
  }
  EXPECT_FALSE(DecisionTransformer(small_decision())->forward(w).states.defined());
}

TEST_F(DecisionTransformerTest, TokensThatNoHeadReadsChangeNeitherActionsNorGradients) {
  DecisionTransformer all = decision_model(small_decision({.all_heads = true}));
  DecisionTransformer model = decision_model(small_decision());
  {
    const torch::NoGradGuard no_grad;
    for (const auto& item : all->named_parameters()) {
      if (Tensor* ours = model->named_parameters().find(item.key())) ours->copy_(item.value());
    }
  }
  const DecisionWindows w = padded_windows(random_windows(2, 5), 0, 3, 0);
  const auto error = [&](DecisionTransformer& of) {
    const DecisionOutput output = of->forward(w);
    const Tensor loss = action_error(output.actions, w.actions, w.padding) + output.terms[0].objective().sum();
    loss.backward();
    return loss;
  };
  EXPECT_TRUE(close(error(model), error(all), 1e-6));
  for (const auto& item : model->named_parameters()) {
    EXPECT_TRUE(close(item.value().grad(), all->named_parameters()[item.key()].grad(), 1e-5)) << item.key();
  }
}

TEST_F(DecisionTransformerTest, WhateverStandsInPaddingHasNoGradient) {
  DecisionTransformer model = decision_model(small_decision());
  const DecisionWindows w = random_windows(2, 5);
  const auto gradients = [&](double filler) {
    model->zero_grad();
    const DecisionWindows padded = padded_windows(w, 0, 4, filler);
    const DecisionOutput output = model->forward(padded);
    (action_error(output.actions, padded.actions, padded.padding) + output.terms[0].objective().sum()).backward();
    std::vector<Tensor> all;
    for (const Tensor& parameter : model->parameters()) all.push_back(parameter.grad().clone());
    return all;
  };
  const std::vector<Tensor> expected = gradients(0), actual = gradients(kNotANumber);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i]));
}

// Right padding is behind all that a causal layer sees: only the KSVD term feels it.
TEST_F(DecisionTransformerTest, AsPublishedTheKsvdTermFeelsPaddingButNoActionDoes) {
  const torch::NoGradGuard no_grad;
  DecisionOptions options = small_decision();
  for (nn::EncoderLayerOptions& layer : options.layers) {
    layer.attention.padding = Padding::ignore;
    layer.attention.masking = nn::Masking::published;
    layer.masked = layer.attention.kind != "primal";
  }
  DecisionTransformer model = decision_model(options), right = decision_model(small_decision());
  const DecisionWindows w = random_windows(2, 5), padded = padded_windows(w, 0, 3, -10);
  const DecisionOutput expected = right->forward(w), output = model->forward(padded);
  EXPECT_TRUE(close(output.actions.narrow(1, 0, 5), expected.actions, 1e-5));
  EXPECT_FALSE(close(output.terms[0].objective(), expected.terms[0].objective(), 1e-4));
}

TEST_F(DecisionTransformerTest, AWindowOfPaddingAloneHasAFiniteAnswer) {
  DecisionTransformer model(small_decision());
  DecisionWindows w = random_windows(2, 4);
  w.padding = torch::tensor({{false, false, true, true}, {true, true, true, true}});
  const DecisionOutput output = model->forward(w);
  (action_error(output.actions, w.actions, w.padding) + output.terms[0].objective().sum()).backward();
  for (const Tensor& parameter : model->parameters()) EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
}

TEST_F(DecisionTransformerTest, AnEpisodeMayGoOnBeyondTheTableWithItsLastRow) {
  const torch::NoGradGuard no_grad;
  DecisionTransformer model = decision_model(small_decision());
  DecisionWindows w = random_windows(1, kLongestEpisode + 5);
  w.timesteps = torch::arange(kLongestEpisode + 5).unsqueeze(0);
  const Tensor actions = model->forward(w).actions;
  EXPECT_TRUE(close(acted(*model, w), actions, 1e-5));
  w.timesteps = w.timesteps.clamp_max(kLongestEpisode - 1);
  EXPECT_TRUE(at::equal(model->forward(w).actions, actions));
}

TEST_F(DecisionTransformerTest, TheStateOfPrimalLayersDoesNotGrow) {
  const auto numbers_after = [](const std::vector<std::string>& kinds, int64_t steps) {
    DecisionTransformer model = decision_model(small_decision({.kinds = kinds}));
    DecisionState state = model->initial_state(1);
    DecisionStep now{.returns_to_go = torch::ones({1}), .states = torch::randn({1, kDecisionStates})};
    for (int64_t t = 0; t < steps; ++t) now.previous_actions = model->step(now, state);
    int64_t numbers = 0;
    for (const auto& [name, tensor] : nn::tensors_of(state.encoder)) numbers += tensor.numel();
    return numbers;
  };
  EXPECT_EQ(numbers_after({"primal", "primal"}, 25), numbers_after({"primal", "primal"}, 1));
  EXPECT_GT(numbers_after({"softmax"}, 25), numbers_after({"softmax"}, 1));
}

TEST_F(DecisionTransformerTest, StepsHaveNeitherDropoutNorGradientEvenInTrainingMode) {
  DecisionOptions options = small_decision();
  options.dropout = 0.5;
  for (nn::EncoderLayerOptions& layer : options.layers) layer.dropout = layer.attention.dropout = 0.5;
  DecisionTransformer model = decision_model(options);
  DecisionWindows w = random_windows(2, 6);
  w.timesteps = torch::arange(6).expand({2, 6});
  const Tensor expected = model->forward(w).actions.detach();
  model->train();
  const Tensor actions = acted(*model, w);
  EXPECT_TRUE(close(actions, expected, 1e-5));
  EXPECT_FALSE(actions.requires_grad());
}

TEST_F(DecisionTransformerTest, DropoutOfTheEmbeddingIsForTrainingAlone) {
  DecisionOptions options = small_decision();
  options.dropout = 0.5;  // the layers have none
  DecisionTransformer model(options);
  const DecisionWindows w = random_windows(2, 6);
  EXPECT_FALSE(close(model->forward(w).actions, model->forward(w).actions, 1e-4));
  model->eval();
  EXPECT_TRUE(at::equal(model->forward(w).actions, model->forward(w).actions));
}

TEST_F(DecisionTransformerTest, MayBeginAsPublished) {
  DecisionOptions options = small_decision();
  options.init = DecisionInit::published;
  for (nn::EncoderLayerOptions& layer : options.layers) layer.attention.width = layer.feed_forward = 64;
  const DecisionTransformer model(options);
  for (const auto& item : model->named_parameters()) {
    const auto has = [&](const char* part) { return item.key().find(part) != std::string::npos; };
    const double deviation = item.value().std().item<double>();
    SCOPED_TRACE(item.key());
    if (has("proj.weight") || has("linear")) {
      EXPECT_NEAR(deviation, has("bias") ? 0 : 0.02, 0.004);
    } else if (has("proj.bias")) {
      EXPECT_EQ(item.value().abs().max().item<double>(), 0);
    } else if (has("embed_timestep")) {
      EXPECT_NEAR(deviation, 1, 0.1);
    } else if (has("predict_action.weight")) {
      EXPECT_NEAR(deviation, 1 / std::sqrt(3 * 64.0), 0.02);  // uniform within 1/sqrt(64), as any linear layer
    } else if (has("attention.we")) {
      EXPECT_NEAR(item.value()[0].norm().item<double>(), 1, 1e-5);  // orthogonal still
    }
  }
}

TEST_F(DecisionTransformerTest, ACloneIsTheSameModelWithWeightsOfItsOwn) {
  DecisionTransformer model = decision_model(small_decision({.all_heads = true}));
  const DecisionWindows w = random_windows(2, 5);
  const auto copy = std::dynamic_pointer_cast<DecisionTransformerImpl>(model->clone());
  const Tensor actions = model->forward(w).actions;
  EXPECT_TRUE(at::equal(copy->forward(w).actions, actions));
  {
    const torch::NoGradGuard no_grad;
    for (Tensor& parameter : copy->parameters()) parameter.add_(0.1);
  }
  EXPECT_TRUE(at::equal(model->forward(w).actions, actions));
  EXPECT_FALSE(close(copy->forward(w).actions, actions, 1e-3));
}

TEST(ActionError, IsTheMeanOverStepsThatAreNotPadded) {
  const Tensor predicted = torch::tensor({{{1., 2.}, {3., 4.}, {0., 0.}}}).requires_grad_();
  const Tensor done = torch::tensor({{{1., 1.}, {0., 4.}, {kNotANumber, kNotANumber}}});
  const Tensor padding = torch::tensor({{false, false, true}});
  const Tensor error = action_error(predicted, done, padding);
  EXPECT_NEAR(error.item<double>(), (0 + 1 + 9 + 0) / 4.0, 1e-12);
  error.backward();
  EXPECT_TRUE(close(predicted.grad(), torch::tensor({{{0., 0.5}, {1.5, 0.}, {0., 0.}}}), 1e-12));
  EXPECT_NEAR(action_error(predicted.slice(1, 0, 2), done.slice(1, 0, 2)).item<double>(), 2.5, 1e-12);
  EXPECT_EQ(action_error(predicted, done, torch::ones({1, 3}, at::kBool)).item<double>(), 0);
}

}  // namespace
}  // namespace primal::models
