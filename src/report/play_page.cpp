#include "report/play_page.h"

#include <primal/error.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "report/page.h"
#include "report/rollout_json.h"

namespace primal::report {
namespace {

/// "best: return 3012.4, score 93.1, asked for 3600.0, 1000 steps"
std::string summary_of(const run::RolloutDetails& details, const run::Animation& animation) {
  std::string text = animation.title + ": return " + base::format_fixed(animation.earned, 1);
  const double score = normalised_score(details, animation.earned);
  if (std::isfinite(score)) text += ", score " + base::format_fixed(score, 1);
  if (std::isfinite(animation.target)) text += ", asked for " + base::format_fixed(animation.target, 1);
  return text + ", " + std::to_string(animation.steps) + " steps";
}

}  // namespace

std::string play_page(const run::RolloutDetails& details, const std::string& title) {
  if (details.robot.empty()) throw Error("play: expected the name of the robot, got none");
  if (details.animations.empty()) throw Error("play: expected at least one episode to show, got none");
  std::string summary = details.robot;
  for (const run::Animation& animation : details.animations) summary += "\n" + summary_of(details, animation);
  const nlohmann::json data = {{"kind", "play"}, {"title", title}, {"rollouts", rollouts_json(details)}};
  return make_page(title + " · primal play", summary, data);
}

}  // namespace primal::report
