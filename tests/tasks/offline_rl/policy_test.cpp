// How agents choose actions in episodes, beside what their models say of whole windows.
#include "tasks/offline_rl/policy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "support/errors.h"
#include "support/tensors.h"
#include "tasks/offline_rl/small_agents.h"

namespace primal::tasks {
namespace {

using tests::close;
using tests::error_of;
using tests::same;
using tests::small_agent;
using tests::small_cloning;
using torch::Tensor;

constexpr int64_t kPlayed = 3, kStates = 5, kActions = 2;

// What episodes see, [E, T, ...], and how long each goes on.
struct Seen {
  Tensor states = torch::randn({kPlayed, 11, kStates});
  Tensor returns_to_go = torch::randn({kPlayed, 11});
  std::vector<int64_t> lengths = {11, 3, 7};

  int64_t steps() const { return states.size(1); }
  Tensor live(int64_t step) const {
    std::vector<int64_t> live;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (step < lengths[i]) live.push_back(static_cast<int64_t>(i));
    }
    return at::tensor(live, at::kLong);
  }
  // One of the episodes, up to its end.
  Seen only(int64_t episode) const {
    const int64_t length = lengths[static_cast<size_t>(episode)];
    const auto of = [&](const Tensor& all) { return all.narrow(0, episode, 1).narrow(1, 0, length); };
    return {.states = of(states), .returns_to_go = of(returns_to_go), .lengths = {length}};
  }
};

std::unique_ptr<Policy> policy_of(const OfflineRlConfig& config) {
  torch::manual_seed(5);
  std::unique_ptr<Policy> policy = make_policy(config, kStates, kActions);
  policy->model().eval();
  return policy;
}

// -> [E, T, A]
Tensor acted(Policy& policy, const Seen& seen) {
  const std::unique_ptr<Actor> actor = policy.actor(seen.states.size(0), seen.steps());
  std::vector<Tensor> actions;
  for (int64_t step = 0; step < seen.steps(); ++step) {
    const Tensor live = seen.live(step);
    actions.push_back(actor->act(seen.states.select(1, step), seen.returns_to_go.select(1, step), live).clone());
    EXPECT_EQ(actions.back().sizes(), (std::vector<int64_t>{seen.states.size(0), kActions}));
  }
  return at::stack(actions, 1);
}

// The same one episode after another, each window made anew of the last `context` steps; 0 behind the end.
Tensor plainly_acted(Policy& policy, const Seen& seen, int64_t context) {
  Tensor actions = at::zeros({kPlayed, seen.steps(), kActions});
  for (int64_t episode = 0; episode < kPlayed; ++episode) {
    for (int64_t step = 0; step < seen.lengths[static_cast<size_t>(episode)]; ++step) {
      const int64_t first = std::max<int64_t>(0, step + 1 - context), size = step + 1 - first;
      const auto last = [&](const Tensor& all) { return all.narrow(0, episode, 1).narrow(1, first, size).clone(); };
      const Tensor answer = policy
                                .forward({.states = last(seen.states),
                                          .actions = last(actions),  // 0 for the one that is asked for
                                          .returns_to_go = last(seen.returns_to_go),
                                          .timesteps = at::arange(first, step + 1).unsqueeze(0)})
                                .actions;
      actions[episode][step] = answer[0][size - 1];
    }
  }
  return actions;
}

class OfflinePolicyTest : public testing::Test {
 protected:
  OfflinePolicyTest() { torch::manual_seed(2); }

  const torch::NoGradGuard no_grad;
};

struct AgentForm {
  std::string name;
  std::vector<std::string> layers;
  LayerMemory memory = LayerMemory::none;
  int64_t convolution = 0;
};

void PrintTo(const AgentForm& form, std::ostream* out) { *out << form.name; }

class DecisionPolicyForms : public testing::TestWithParam<AgentForm> {
 protected:
  DecisionPolicyForms() {
    torch::manual_seed(2);
    config = small_agent(GetParam().layers);
    config.model.memory = GetParam().memory;
    config.model.convolution = GetParam().convolution;
  }

  const torch::NoGradGuard no_grad;
  OfflineRlConfig config;
};

TEST_P(DecisionPolicyForms, SeeTheLastStepsOfTheirWindow) {
  for (const int64_t steps : {1, 4, 20}) {
    config.model.steps = steps;
    const std::unique_ptr<Policy> policy = policy_of(config);
    const Seen seen;
    EXPECT_TRUE(close(acted(*policy, seen), plainly_acted(*policy, seen, steps), 1e-5)) << steps;
  }
}

TEST_P(DecisionPolicyForms, WithTheWholeEpisodeActAlikeWhileItIsWithinTheWindow) {
  const Seen seen;
  const std::unique_ptr<Policy> window = policy_of(config);
  config.eval.context = Context::episode;
  const std::unique_ptr<Policy> episode = policy_of(config);
  const Tensor expected = acted(*window, seen), actual = acted(*episode, seen);
  EXPECT_TRUE(close(actual.narrow(1, 0, 4), expected.narrow(1, 0, 4), 1e-5));
  EXPECT_FALSE(close(actual.narrow(1, 4, 7), expected.narrow(1, 4, 7), 1e-5)) << "it remembers what came before";
}

TEST_P(DecisionPolicyForms, WithTheWholeEpisodeActAsInAWindowAsLong) {
  const Seen seen;
  config.eval.context = Context::episode;
  const std::unique_ptr<Policy> policy = policy_of(config);
  EXPECT_TRUE(close(acted(*policy, seen), plainly_acted(*policy, seen, /*context=*/11), 1e-5));
}

TEST_P(DecisionPolicyForms, AreNotDisturbedByOtherEpisodes) {
  for (const Context context : {Context::window, Context::episode}) {
    config.eval.context = context;
    const std::unique_ptr<Policy> policy = policy_of(config);
    const Seen seen;
    const Tensor together = acted(*policy, seen);
    for (int64_t i = 0; i < kPlayed; ++i) {
      const Seen alone = seen.only(i);
      EXPECT_TRUE(close(acted(*policy, alone), together.narrow(0, i, 1).narrow(1, 0, alone.steps()), 1e-5)) << i;
    }
    Seen broken = seen;  // what an episode that has ended still shows
    broken.states[1].narrow(0, 3, 8).fill_(1e9);
    broken.returns_to_go[1].narrow(0, 3, 8).fill_(-1e9);
    EXPECT_TRUE(same(acted(*policy, broken), together));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, DecisionPolicyForms,
                         testing::Values(AgentForm{"Primal", {"primal", "primal"}},
                                         AgentForm{"PrimalPlus", {"softmax", "primal"}},
                                         AgentForm{"Softmax", {"softmax"}}, AgentForm{"Linear", {"linear", "linear"}},
                                         AgentForm{"PrimalDecay", {"primal"}, LayerMemory::decay},
                                         AgentForm{"Convolution", {"primal"}, LayerMemory::none, 3}),
                         [](const auto& form) { return form.param.name; });

TEST_F(OfflinePolicyTest, CloningSeesTheLastStates) {
  OfflineRlConfig config = small_cloning();
  const Seen seen;
  for (const int64_t steps : {1, 4, 20}) {
    config.model.steps = steps;
    const std::unique_ptr<Policy> policy = policy_of(config);
    const Tensor actions = acted(*policy, seen);
    EXPECT_TRUE(close(actions, plainly_acted(*policy, seen, steps), 1e-6)) << steps;
    Seen other = seen;
    other.returns_to_go = seen.returns_to_go + 7;
    EXPECT_TRUE(same(acted(*policy, other), actions)) << "it takes no target";
  }
}

TEST_F(OfflinePolicyTest, EpisodesThatHaveEndedDoNothing) {
  for (const OfflineRlConfig& config : {small_agent(), small_cloning()}) {
    const std::unique_ptr<Policy> policy = policy_of(config);
    const Tensor actions = acted(*policy, {});
    EXPECT_FALSE(actions[1].narrow(0, 3, 8).any().item<bool>());
    EXPECT_TRUE(actions[1].narrow(0, 0, 3).all().item<bool>());
    EXPECT_TRUE(actions[0].all().item<bool>());
    EXPECT_LT(actions.abs().max().item<float>(), 1);
  }
}

TEST_F(OfflinePolicyTest, AnActorBeginsAnew) {
  OfflineRlConfig config = small_agent({"primal"});
  for (const Context context : {Context::window, Context::episode}) {
    config.eval.context = context;
    const std::unique_ptr<Policy> policy = policy_of(config);
    const Seen seen;
    const Tensor first = acted(*policy, seen);
    EXPECT_TRUE(same(acted(*policy, seen), first));
  }
}

TEST_F(OfflinePolicyTest, OnlyADecisionTransformerIsAskedForAReturn) {
  EXPECT_TRUE(policy_of(small_agent())->takes_targets());
  EXPECT_FALSE(policy_of(small_cloning())->takes_targets());
}

TEST_F(OfflinePolicyTest, WhatEndsBeforeAnEpisodeDoesCannotRememberIt) {
  OfflineRlConfig config = small_agent({"primal", "cosformer"});
  EXPECT_NO_THROW(policy_of(config));
  config.eval.context = Context::episode;
  EXPECT_EQ(error_of([&] { policy_of(config); }),
            "eval.context: expected window, as one of model.layers goes on for 12 tokens and an episode has 3000, got "
            "episode");
  config.model.steps = environments::kTimeLimit;
  EXPECT_NO_THROW(policy_of(config));
}

TEST_F(OfflinePolicyTest, OnlyPrimalLayersHaveTerms) {
  const Seen seen;
  const models::DecisionWindows windows{.states = seen.states,
                                        .actions = torch::randn({kPlayed, 11, kActions}),
                                        .returns_to_go = seen.returns_to_go,
                                        .timesteps = at::arange(11).expand({kPlayed, 11})};
  EXPECT_EQ(policy_of(small_agent({"softmax", "primal", "primal"}))->forward(windows).terms.size(), 2U);
  EXPECT_TRUE(policy_of(small_cloning())->forward(windows).terms.empty());
}

}  // namespace
}  // namespace primal::tasks
