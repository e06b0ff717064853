// Evaluations of agents, episode by episode: how much each earned, beside the data, and what it looked like.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/evaluation.h"

namespace primal::run {

/// Episodes that were asked for the same return.
struct TargetReturns {
  double target = 0;              ///< the return that was asked for; NaN: none was, of an agent that takes none
  std::vector<double> returns{};  ///< of each episode
  std::vector<int64_t> steps{};   ///< of each episode
};

/// An episode from the side, frame by frame.
struct Animation {
  std::string title;              ///< "best", "median", "worst"
  double target = 0, earned = 0;  ///< returns; the target is NaN if there was none
  int64_t steps = 0;              ///< of the episode; frames may end before
  double frame_seconds = 0;       ///< between two frames
  std::vector<double> radii{};    ///< of each capsule
  /// By frame, then by capsule: x1, z1, x2, z2 in metres; x forward, z up.
  std::vector<std::vector<double>> frames{};
  int64_t frame_steps = 0;  ///< between two frames; 0: not known, and a page shows seconds only
};

/// Details of an evaluation, as one object "rollouts" with the names of the members: beside the score of the evaluation
/// its numbers would pass for scores.
struct RolloutDetails {
  std::string robot{};                          ///< "Hopper"; empty: there were no rollouts
  std::string normalisation{};                  ///< what scores mean: "D4RL" or "this set"
  double random_return = 0, expert_return = 0;  ///< returns that score 0 and 100
  std::string checkpoint{};                     ///< "last" or "best": whose weights
  std::vector<double> data_returns{};           ///< of the episodes of the training data, at most some thousand
  std::vector<TargetReturns> targets{};
  std::vector<Animation> animations{};
};
/// Nothing is put if there were no rollouts. Lengths of capsules are rounded to millimetres, returns to thousandths.
/// Throws Error for what rollout_details() would not read: sizes that do not fit, numbers that are not finite.
void put(Evaluation& evaluation, const RolloutDetails& details);
/// What is missing is empty. Throws Error, which `where` begins, for what is of another kind.
RolloutDetails rollout_details(const Evaluation& evaluation, const std::string& where = "evaluation");

}  // namespace primal::run
