#include "report/rollout_json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "report/page.h"

namespace primal::report {
namespace {

using Json = nlohmann::json;

/// A millimetre is less than a pixel.
Json millimetres(const std::vector<double>& metres) {
  Json list = Json::array();
  for (double length : metres) list.push_back(std::round(1e3 * length) / 1e3);
  return list;
}

Json target_json(const run::RolloutDetails& details, const run::TargetReturns& target) {
  const double mean = base::mean(target.returns), deviation = base::deviation(target.returns);
  // Scores are returns on another scale, so their deviation is that of the returns, shrunk alike.
  const double score_deviation = normalised_score(details, details.random_return + deviation);
  const std::vector<double> steps(target.steps.begin(), target.steps.end());
  return {{"target", rounded(target.target)},          {"returns", numbers_json(target.returns)},
          {"steps", rounded(base::mean(steps))},       {"mean", rounded(mean)},
          {"deviation", rounded(deviation)},           {"score", rounded(normalised_score(details, mean))},
          {"scoreDeviation", rounded(score_deviation)}};
}

Json animation_json(const run::RolloutDetails& details, const run::Animation& animation) {
  Json frames = Json::array();
  for (const auto& frame : animation.frames) frames.push_back(millimetres(frame));
  return {{"title", animation.title},
          {"target", rounded(animation.target)},
          {"earned", rounded(animation.earned)},
          {"score", rounded(normalised_score(details, animation.earned))},
          {"steps", animation.steps},
          {"frameSeconds", rounded(animation.frame_seconds)},
          {"frameSteps", animation.frame_steps},
          {"radii", millimetres(animation.radii)},
          {"frames", frames}};
}

/// What was asked for rises; those who were asked for nothing come last.
bool asks_less(const run::TargetReturns& a, const run::TargetReturns& b) {
  const auto place = [](double target) { return std::isnan(target) ? HUGE_VAL : target; };
  return place(a.target) < place(b.target);
}

}  // namespace

double normalised_score(const run::RolloutDetails& details, double episode_return) {
  const double span = details.expert_return - details.random_return;
  if (span == 0) return std::numeric_limits<double>::quiet_NaN();
  return 100 * (episode_return - details.random_return) / span;
}

Json rollouts_json(const run::RolloutDetails& details) {
  if (details.robot.empty()) return nullptr;
  std::vector<run::TargetReturns> rising = details.targets;
  std::ranges::stable_sort(rising, asks_less);
  Json targets = Json::array(), animations = Json::array();
  for (const auto& target : rising) targets.push_back(target_json(details, target));
  for (const auto& animation : details.animations) animations.push_back(animation_json(details, animation));
  return {{"robot", details.robot},
          {"normalisation", details.normalisation},
          {"random", rounded(details.random_return)},
          {"expert", rounded(details.expert_return)},
          {"checkpoint", details.checkpoint},
          {"dataReturns", numbers_json(details.data_returns)},
          {"targets", targets},
          {"animations", animations}};
}

}  // namespace primal::report
