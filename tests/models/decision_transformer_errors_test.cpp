// What a Decision Transformer refuses.
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "models/small_decision_transformer.h"
#include "support/errors.h"

namespace primal::models {
namespace {

using tests::error_of;
using torch::Tensor;

TEST(DecisionTransformerErrors, OptionsThatMakeNoSenseAreRefused) {
  const auto refused = [](const auto& change) {
    DecisionOptions options = small_decision();
    change(options);
    return error_of([&] { DecisionTransformer model(options); });
  };
  EXPECT_EQ(refused([](auto& o) { o.states = 0; }), "decision_transformer: states must be at least 1, got 0");
  EXPECT_EQ(refused([](auto& o) { o.actions = -1; }), "decision_transformer: actions must be at least 1, got -1");
  EXPECT_EQ(refused([](auto& o) { o.steps = 0; }), "decision_transformer: steps must be at least 1, got 0");
  EXPECT_EQ(refused([](auto& o) { o.max_timestep = 0; }),
            "decision_transformer: max_timestep must be at least 1, got 0");
  EXPECT_EQ(refused([](auto& o) { o.layers.clear(); }), "decision_transformer: at least one layer is needed");
  EXPECT_EQ(refused([](auto& o) { o.layers[1].attention.causal = false; }),
            "decision_transformer: every layer must be causal");
}

TEST(DecisionTransformerErrors, WindowsThatDoNotFitAreRefused) {
  DecisionTransformer model(small_decision());
  const auto refused = [&](const auto& change) {
    DecisionWindows w = random_windows(2, 4);
    change(w);
    return error_of([&] { model->forward(w); });
  };
  EXPECT_EQ(refused([](auto& w) {
              w.states = torch::zeros({2, 4, 6});
            }),
            "decision_transformer: expected states [B, K, 5], got [2, 4, 6]");
  EXPECT_EQ(refused([](auto& w) { w.states = Tensor(); }), "decision_transformer: expected states [B, K, 5], got none");
  EXPECT_EQ(refused([](auto& w) {
              w.actions = torch::zeros({2, 3, 3});
            }),
            "decision_transformer: expected actions [2, 4, 3], got [2, 3, 3]");
  EXPECT_EQ(refused([](auto& w) { w.returns_to_go = w.returns_to_go.unsqueeze(-1); }),
            "decision_transformer: expected returns_to_go [2, 4], got [2, 4, 1]");
  EXPECT_EQ(refused([](auto& w) {
              w.timesteps = torch::zeros({2, 4});
            }),
            "decision_transformer: timesteps must be int64, got Float");
  EXPECT_EQ(refused([](auto& w) { w.timesteps[1][2] = -7; }), "decision_transformer: time step -7 is negative");
  EXPECT_EQ(refused([](auto& w) {
              w.padding = torch::zeros({2, 12}, at::kBool);
            }),
            "decision_transformer: expected padding [2, 4], got [2, 12]");
  EXPECT_EQ(refused([](auto& w) {
              w.padding = torch::zeros({2, 4});
            }),
            "decision_transformer: padding must be bool, got Float");
}

TEST(DecisionTransformerErrors, StepsThatDoNotFollowAreRefused) {
  DecisionTransformer model(small_decision());
  DecisionState state = model->initial_state(2);
  DecisionStep now{.returns_to_go = torch::ones({2}), .states = torch::zeros({2, 4})};
  EXPECT_EQ(error_of([&] { model->step(now, state); }), "decision_transformer: expected states [B, 5], got [2, 4]");
  now.states = torch::zeros({2, kDecisionStates});
  now.previous_actions = torch::zeros({2, kDecisionActions});
  EXPECT_EQ(error_of([&] { model->step(now, state); }),
            "decision_transformer: no action was done before the first step");
  now.previous_actions.reset();
  model->step(now, state);
  EXPECT_EQ(error_of([&] { model->step(now, state); }),
            "decision_transformer: step 1 needs the actions of the step before");
  now.previous_actions = torch::zeros({2, 4});
  EXPECT_EQ(error_of([&] { model->step(now, state); }),
            "decision_transformer: expected previous_actions [2, 3], got [2, 4]");
  now.returns_to_go = torch::ones({1});
  EXPECT_EQ(error_of([&] { model->step(now, state); }), "decision_transformer: expected returns_to_go [2], got [1]");
}

}  // namespace
}  // namespace primal::models
