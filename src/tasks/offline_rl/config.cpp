#include "tasks/offline_rl/config.h"

#include <algorithm>

#include "base/text.h"
#include "primal/error.h"

namespace primal::tasks {

namespace {

constexpr base::Names<Agent, 2> kAgentNames{
    {{"decision_transformer", Agent::decision_transformer}, {"behaviour_cloning", Agent::behaviour_cloning}}};
constexpr base::Names<Context, 2> kContextNames{{{"window", Context::window}, {"episode", Context::episode}}};
constexpr base::Names<ScoredTarget, 2> kScoredNames{{{"first", ScoredTarget::first}, {"best", ScoredTarget::best}}};
constexpr base::Names<environments::Version, 2> kVersionNames{
    {{"v4", environments::Version::v4}, {"v5", environments::Version::v5}}};
constexpr base::Names<models::DecisionInit, 2> kDecisionInitNames{
    {{"default", models::DecisionInit::as_layers}, {"published", models::DecisionInit::published}}};

void add_trajectory_settings(base::Settings& settings, OfflineDataOptions& data) {
  settings.add("data.set", &data.set, "ROBOT-KIND as primal records it, or of D4RL: ROBOT-KIND-v2");
  settings.add("data.train", &data.train, "own episodes instead of a set: HDF5 in D4RL's or Minari's layout");
  std::vector<std::string> robots = {"auto", "none"};
  for (const environments::RobotInfo& robot : environments::robots()) robots.emplace_back(robot.name);
  settings.add("data.robot", &data.robot, "of own episodes: " + base::joined(robots, ", "));
  settings.add("data.version", base::choice(data.version, kVersionNames), "of the robots, as gymnasium has them");
  settings.add("data.best_share", &data.best_share, "of the episodes: only those with the highest returns",
               {.least = 0, .most = 1, .has_least = false});
  settings.add("data.delayed", &data.delayed, "all reward of an episode comes with its last step");
  settings.add("data.return_scale", &data.return_scale, "returns are divided by it", base::more_than(0));
  settings.add("data.validation", &data.validation, "share of the episodes held out where no robot can be played",
               base::share());
}

void add_agent_settings(base::Settings& settings, OfflineModelConfig& model) {
  settings.add("model.agent", base::choice(model.agent, kAgentNames), "decision_transformer or behaviour_cloning");
  settings.add("model.steps", &model.steps, "K, steps of an episode that the agent sees",
               {.least = 1, .most = static_cast<double>(environments::kTimeLimit)});
  settings.add("model.attention_dropout", &model.attention_dropout, "of softmax weights", base::share());
  settings.add("model.decision_init", base::choice(model.decision_init, kDecisionInitNames),
               "of the linear maps inside the encoder; published: normal, 0.02");
  settings.add("model.hidden_layers", &model.hidden_layers, "of behaviour cloning", base::count_from(1));
}

void add_rollout_settings(base::Settings& settings, OfflineEvalOptions& eval) {
  settings.add("eval.targets", base::WordOrNumbers{{"data"}, &eval.target_word, &eval.targets},
               "returns that the agent is asked for; data: the best of the data and half of it (of D4RL's sets those "
               "that are published)");
  settings.add("eval.score", base::choice(eval.score, kScoredNames), "of the first target, or of the best");
  settings.add("eval.context", base::choice(eval.context, kContextNames),
               "window: the last model.steps steps; episode: all, in a state of the decoder");
  settings.add("eval.episodes", &eval.episodes, "of each target in the end", base::from_to(1, 1e5));
  settings.add("eval.quick_episodes", &eval.quick_episodes, "of each target while training", base::from_to(1, 1e5));
}

}  // namespace

std::string OfflineRlConfig::model_name() const {
  if (is_cloning()) return data.best_share < 1 ? "BC of the best" : "BC";
  const std::string name = tasks::model_name(model);
  return (name == "Transformer" ? std::string() : name == "Primal.+" ? name : name + "-") + "DT";
}

void OfflineRlConfig::add_own_settings(base::Settings& settings) {
  add_trajectory_settings(settings, data);
  tasks::add_settings(settings, static_cast<EncoderConfig&>(model));
  add_agent_settings(settings, model);
  tasks::add_settings(settings, loss);
  add_rollout_settings(settings, eval);
}

void OfflineRlConfig::check_own() const {
  tasks::check(static_cast<const EncoderConfig&>(model));
  if (run.refit) throw Error("run.refit: this family of tasks has no refit");
  if (data.robot != "auto" && data.robot != "none") environments::robot_named(data.robot, "data.robot");
  if (data.robot != "auto" && data.train.empty()) {
    throw Error("data.robot: " + data.robot + " given without data.train; a set says which robot it is of");
  }
  if (eval.context == Context::episode && is_cloning()) {
    throw Error("eval.context: behaviour_cloning knows no context but window");
  }
}

models::DecisionOptions decision_options(const OfflineRlConfig& config, int64_t states, int64_t actions) {
  const OfflineModelConfig& model = config.model;
  models::DecisionOptions options{.states = states,
                                  .actions = actions,
                                  .steps = model.steps,
                                  .max_timestep = environments::kTimeLimit,
                                  .dropout = model.dropout,
                                  .init = model.decision_init,
                                  .layers = layer_options(model, 3 * model.steps)};
  for (nn::EncoderLayerOptions& layer : options.layers) {
    layer.activation = Activation::relu;
    layer.attention.causal = true;
    layer.attention.dropout = model.attention_dropout;
    layer.attention.primal.rows = 0;  // causal weights are not made from rows
    // As in language models: a causal primal layer forgets inside its attention.
    layer.memory = LayerMemory::none;
    layer.attention.primal.memory = model.memory == LayerMemory::decay ? Memory::decay : Memory::mean;
    layer.attention.primal.memory_tokens = 3 * model.steps;
  }
  return options;
}

}  // namespace primal::tasks
