// Configurations of agents: their names, and those that cannot work.
#include "tasks/offline_rl/config.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/errors.h"
#include "tasks/offline_rl/small_agents.h"

namespace primal::tasks {
namespace {

using tests::contains;
using tests::error_of;
using tests::small_agent;
using tests::small_cloning;

TEST(OfflineRlConfigTest, HasANameForEachAgent) {
  EXPECT_EQ(small_agent().model_name(), "Primal.+DT");
  EXPECT_EQ(small_agent({"softmax", "softmax"}).model_name(), "DT");
  EXPECT_EQ(small_agent({"primal"}).model_name(), "PrimalFormer-DT");
  EXPECT_EQ(small_agent({"linear"}).model_name(), "linear-DT");
  OfflineRlConfig cloning = small_cloning();
  EXPECT_EQ(cloning.model_name(), "BC");
  cloning.data.best_share = 0.1;
  EXPECT_EQ(cloning.model_name(), "BC of the best");
}

TEST(OfflineRlConfigTest, ConfigurationsThatCannotWorkAreRefused) {
  const auto complaint = [](const std::function<void(OfflineRlConfig&)>& change) {
    OfflineRlConfig config = small_agent();
    change(config);
    return error_of([&] { config.check(); });
  };
  small_agent().check();
  small_cloning().check();
  EXPECT_EQ(complaint([](auto& c) { c.run.refit = true; }), "run.refit: this family of tasks has no refit");
  EXPECT_EQ(complaint([](auto& c) { c.data.robot = "none"; }),
            "data.robot: none given without data.train; a set says which robot it is of");
  EXPECT_TRUE(contains(complaint([](auto& c) { c.data.robot = "ant"; }), "data.robot: there is no robot \"ant\""));
  EXPECT_EQ(complaint([](auto& c) {
              c.model.agent = Agent::behaviour_cloning;
              c.eval.context = Context::episode;
            }),
            "eval.context: behaviour_cloning knows no context but window");
  EXPECT_TRUE(contains(complaint([](auto& c) { c.model.steps = 0; }), "model.steps: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.model.steps = 1001; }), "model.steps: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.data.best_share = 0; }), "data.best_share: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.data.best_share = 1.5; }), "data.best_share: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.data.return_scale = 0; }), "data.return_scale: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.data.validation = 1; }), "data.validation: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.eval.episodes = 0; }), "eval.episodes: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.eval.quick_episodes = 0; }), "eval.quick_episodes: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.model.attention_dropout = 1; }), "model.attention_dropout: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.model.heads = 3; }), "model.width: 8 is not divisible by 3 heads"));
}

TEST(OfflineRlConfigTest, PublishedRunsReportTheirLastWeights) {
  OfflineRlConfig config = small_agent();
  config.run.protocol = Protocol::paper;
  config.train.keep = train::Keep::last;
  EXPECT_NO_THROW(config.check());
  EXPECT_EQ(config.selection(), Part::validation);
  EXPECT_EQ(config.published_keep(), train::Keep::last);
}

TEST(OfflineRlConfigTest, LayersAreCausalAndCountThreeTokensAStep) {
  OfflineRlConfig config = small_agent();
  config.model.memory = LayerMemory::decay;
  config.model.rows = 7;
  const models::DecisionOptions options = decision_options(config, 11, 3);
  for (const nn::EncoderLayerOptions& layer : options.layers) {
    EXPECT_TRUE(layer.attention.causal);
    EXPECT_EQ(layer.activation, Activation::relu);
    EXPECT_EQ(layer.attention.tokens, 12);
    EXPECT_EQ(layer.attention.primal.rows, 0);
    EXPECT_EQ(layer.attention.primal.memory, Memory::decay);
    EXPECT_EQ(layer.memory, LayerMemory::none);
  }
}

}  // namespace
}  // namespace primal::tasks
