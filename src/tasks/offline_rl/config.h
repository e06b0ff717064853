// The configuration of an offline-RL run: every option with its default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "environments/robots.h"
#include "models/decision_transformer.h"
#include "tasks/config.h"
#include "tasks/encoder_config.h"
#include "tasks/ksvd.h"

namespace primal::tasks {

/// What learns to act.
enum class Agent {
  decision_transformer,  ///< published: actions from the return still wanted, states and actions of some steps
  behaviour_cloning,     ///< actions from the last states, by a multilayer perceptron; takes no target
};

/// What an agent remembers while it acts.
enum class Context {
  window,   ///< published: the last model.steps steps
  episode,  ///< all of them, in the state of the decoder; of constant size if every layer is primal
};

/// Which of the targets the score of an evaluation is of.
enum class ScoredTarget {
  first,
  best,  ///< whichever earned most, as published tables are understood to have it
};

struct OfflineDataOptions {
  std::string set = "hopper-medium";  ///< recorded by primal, or one of D4RL: "hopper-medium-v2"
  std::string train;                  ///< own episodes instead of a set
  /// Of own episodes: a name of robots(), "none" for what cannot be played here, "auto" for what the file says.
  std::string robot = "auto";
  environments::Version version = environments::Version::v4;
  double best_share = 1;       ///< only so many of the episodes, those with the highest returns
  bool delayed = false;        ///< all reward of an episode comes with its last step
  double return_scale = 1000;  ///< returns are divided by it
  double validation = 0.1;     ///< share of the episodes that is held out where no robot can be played
};

struct OfflineModelConfig : EncoderConfig {
  Agent agent = Agent::decision_transformer;
  int64_t steps = 20;            ///< K
  double attention_dropout = 0;  ///< of softmax weights
  models::DecisionInit decision_init = models::DecisionInit::as_layers;
  int64_t hidden_layers = 3;  ///< of behaviour cloning, of model.width
};

struct OfflineEvalOptions {
  std::string target_word = "data";  ///< 1 and 1/2 times the best return in the data; of D4RL's sets the published ones
  std::vector<double> targets{};
  ScoredTarget score = ScoredTarget::first;
  Context context = Context::window;
  int64_t episodes = 100;       ///< of each target, on TEST
  int64_t quick_episodes = 10;  ///< of each target, while training
};

class OfflineRlConfig : public Config {
 public:
  std::string model_name() const override;
  std::vector<OwnFile> own_files() override { return {{"data.train", train::Part::train, &data.train}}; }
  /// The published runs report their last weights.
  train::Part published_selection() const override { return train::Part::validation; }
  train::Keep published_keep() const override { return train::Keep::last; }
  bool is_cloning() const { return model.agent == Agent::behaviour_cloning; }

  OfflineDataOptions data;
  OfflineModelConfig model;
  KsvdOptions loss;
  OfflineEvalOptions eval;

 protected:
  void add_own_settings(base::Settings& settings) override;
  void check_own() const override;
  std::vector<std::string> too_large() const override { return tasks::too_large(loss); }
};

models::DecisionOptions decision_options(const OfflineRlConfig& config, int64_t states, int64_t actions);

}  // namespace primal::tasks
