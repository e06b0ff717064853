#include "tasks/offline_rl/play.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/statistics.h"
#include "base/text.h"
#include "report/play_page.h"
#include "tasks/offline_rl/task.h"
#include "tasks/trained.h"

namespace primal::tasks {

namespace {

void check_targets(const std::vector<double>& targets) {
  constexpr double kMost = 1e9;  // far beyond any return, and far from what a float cannot hold
  for (const double target : targets) {
    if (std::abs(target) <= kMost) continue;
    base::fail("--target", "expected a return within ", kMost, " of 0, got ", target);
  }
}

}  // namespace

PlayResult play(const PlayRequest& request) {
  check_targets(request.targets);
  const Trained trained = open_trained(request.run, /*data=*/"", request.threads, request.set);
  auto* task = dynamic_cast<OfflineRlTask*>(trained.task.get());
  if (task == nullptr) {
    base::fail(request.run.string(), "is a run of the family ", trained.resolved.family->name,
               ", expected offline_rl: nothing else can be played");
  }
  const auto episodes = task->play(request.targets, request.episodes, request.seed);
  return {.title = trained.resolved.config->model_name() + " of " + request.run.string(),
          .details = details_of(episodes, task->offline_facts(), task->config())};
}

std::string page_of(const PlayResult& result) { return report::play_page(result.details, result.title); }

std::string to_text(const PlayResult& result) {
  const Normalisation normalisation{result.details.normalisation, result.details.random_return,
                                    result.details.expert_return};
  std::string text = base::printed("%12s %12s %10s %8s %8s\n", "asked for", "return", "+-", "score", "steps");
  for (const run::TargetReturns& target : result.details.targets) {
    const double mean = base::mean(target.returns);
    const double spread = target.returns.size() > 1 ? base::deviation(target.returns) : 0;
    const std::vector<double> steps(target.steps.begin(), target.steps.end());
    text += base::printed("%12s %12.1f %10.1f %8.1f %8.0f\n",
                          std::isnan(target.target) ? "-" : base::printed("%.0f", target.target).c_str(), mean, spread,
                          normalisation.score(mean), base::mean(steps));
  }
  return text;
}

nlohmann::json to_json(const PlayResult& result) {
  nlohmann::json targets = nlohmann::json::array();
  for (const run::TargetReturns& target : result.details.targets) {
    targets.push_back({{"target", std::isnan(target.target) ? nlohmann::json() : nlohmann::json(target.target)},
                       {"returns", target.returns},
                       {"steps", target.steps}});
  }
  return {{"what", result.title},
          {"robot", result.details.robot},
          {"normalisation", result.details.normalisation},
          {"random_return", result.details.random_return},
          {"expert_return", result.details.expert_return},
          {"targets", targets}};
}

}  // namespace primal::tasks
