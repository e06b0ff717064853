// Logged episodes as a model is trained on them, and what a run writes down of them: RUN/data.json.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/trajectories/trajectories.h"
#include "tasks/family.h"
#include "tasks/offline_rl/config.h"

namespace primal::tasks {

/// What returns are worth: 0 for the random agent, 100 for the expert.
struct Normalisation {
  std::string name;  ///< "D4RL", or "this set" where the set says what its own policies earn
  double random_return = 0, expert_return = 1;

  double score(double episode_return) const {
    return 100 * (episode_return - random_return) / (expert_return - random_return);
  }
};

struct OfflineFacts {
  std::string name;                            ///< "hopper-medium", or the name of the user's own file
  std::optional<environments::Robot> robot{};  ///< nothing: episodes of something that cannot be played here
  int64_t states = 0, actions = 0;             ///< numbers of a state and of an action
  std::vector<double> mean{}, deviation{};     ///< [states], of all steps of the set
  Normalisation normalisation{};
  std::vector<double> targets{};       ///< returns to ask for where the configuration names none
  std::vector<double> data_returns{};  ///< of the episodes, at most some thousand
  std::string fingerprint{};
};

nlohmann::json to_json(const OfflineFacts& facts);
/// Reads data.json. Throws Error with the path.
OfflineFacts read_offline_facts(const std::filesystem::path& path);

/// The facts of episodes from a file. Throws Error, which `file` begins, for what does not fit the robot.
OfflineFacts facts_of(const data::Trajectories& trajectories, const OfflineRlConfig& config,
                      const std::filesystem::path& file);

/// Rows of one episode.
struct Stretch {
  int64_t begin = 0, end = 0;
  int64_t timestep = 0;  ///< of the first one
};

/// Episodes whose states are standardised, with returns-to-go.
class Episodes {
 public:
  Episodes() = default;
  /// The episodes with these numbers, in this order.
  Episodes(const data::Trajectories& all, std::span<const int64_t> chosen, const OfflineFacts& facts, double scale,
           bool delayed);

  int64_t rows() const { return std::ssize(returns_to_go_); }
  int64_t episodes() const { return std::ssize(ends_); }
  /// At most `steps` rows from `row` on, to the end of its episode.
  Stretch from(int64_t row, int64_t steps) const;
  /// At most `steps` rows up to and with `row`, from the start of its episode.
  Stretch up_to(int64_t row, int64_t steps) const;
  /// The number of the episode of a row, from 0.
  int64_t episode_of(int64_t row) const;

  /// [B, K] windows; those of fewer rows are padded at their ends, as published: with the state 0, standardised, the
  /// action -10, and 0.
  models::DecisionWindows windows(std::span<const Stretch> stretches, int64_t steps) const;

 private:
  int64_t begin_of(int64_t episode) const { return episode == 0 ? 0 : ends_[static_cast<size_t>(episode) - 1]; }

  int64_t state_size_ = 0, action_size_ = 0;
  std::vector<int64_t> ends_;  // rows
  std::vector<float> states_, actions_, returns_to_go_;
  std::vector<float> nowhere_;  // the state 0, standardised
};

/// Steps of all windows that are not padding.
int64_t real_steps(const models::DecisionWindows& windows);

/// Numbers of the episodes with the highest returns, in their order; at least one.
std::vector<int64_t> best_episodes(const data::Trajectories& trajectories, double share);

}  // namespace primal::tasks
