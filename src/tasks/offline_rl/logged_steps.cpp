// What the agent says of logged episodes: how far its actions are from theirs, and which it would have taken.
#include <ATen/ATen.h>

#include <algorithm>

#include "base/format.h"
#include "base/text.h"
#include "models/action_error.h"
#include "primal/error.h"
#include "tasks/offline_rl/task.h"

namespace primal::tasks {

namespace {

constexpr int64_t kAtOnce = 256;  // windows that go through the model together

}  // namespace

double OfflineRlTask::action_error(const Episodes& episodes) {
  const torch::NoGradGuard no_grad;
  double sum = 0;
  int64_t steps = 0;
  std::vector<Stretch> stretches;
  for (int64_t row = 0; row < episodes.rows(); row = stretches.back().end) {
    stretches.push_back(episodes.from(row, config_.model.steps));
  }
  for (size_t first = 0; first < stretches.size(); first += kAtOnce) {
    const auto some = std::span(stretches).subspan(first, std::min<size_t>(kAtOnce, stretches.size() - first));
    const models::DecisionWindows windows = episodes.windows(some, config_.model.steps);
    const int64_t weight = real_steps(windows);
    const torch::Tensor actions = policy_->forward(windows).actions;
    sum += models::action_error(actions, windows.actions, windows.padding).item<double>() * static_cast<double>(weight);
    steps += weight;
  }
  return sum / static_cast<double>(steps);
}

Episodes OfflineRlTask::file(const std::filesystem::path& path) const {
  const data::Trajectories all = data::read_trajectories(path);
  if (all.state_size != facts_.states || all.action_size != facts_.actions) {
    base::fail(path.string(), "states of ", all.state_size, " and actions of ", all.action_size, " numbers, expected ",
               facts_.states, " and ", facts_.actions, " as in ", facts_.name);
  }
  const std::vector<int64_t> every = best_episodes(all, 1);
  return Episodes(all, every, facts_, config_.data.return_scale, config_.data.delayed);
}

Evaluation OfflineRlTask::evaluate_file(const std::filesystem::path& path) {
  if (facts_.robot) {
    throw Error(path.string() +
                ": an agent of a robot is judged by playing, not by a file; leave it out, or take predict");
  }
  const double error = action_error(file(path));
  return {.score = error, .loss = error};
}

std::vector<std::string> OfflineRlTask::predict(const PredictRequest& request, const LineWriter& write) {
  const torch::NoGradGuard no_grad;
  if (request.input == "-") throw Error("standard input: HDF5 files cannot be read from it");
  const Episodes episodes = file(request.input);
  std::string header = "episode,step";
  for (int64_t i = 1; i <= facts_.actions; ++i) header += ",action_" + std::to_string(i);
  write(header + "\n");
  const int64_t at_once = request.batch > 0 ? request.batch : kAtOnce, steps = config_.model.steps;
  for (int64_t first = 0; first < episodes.rows(); first += at_once) {
    std::vector<Stretch> stretches;
    for (int64_t row = first; row < std::min(first + at_once, episodes.rows()); ++row) {
      stretches.push_back(episodes.up_to(row, steps));
    }
    const torch::Tensor actions = policy_->forward(episodes.windows(stretches, steps)).actions;
    for (size_t i = 0; i < stretches.size(); ++i) {
      const Stretch& seen = stretches[i];
      const int64_t last = seen.end - seen.begin - 1;
      std::string line =
          std::to_string(episodes.episode_of(seen.begin) + 1) + "," + std::to_string(seen.timestep + last);
      const torch::Tensor action = actions[static_cast<int64_t>(i)][last].contiguous();
      for (int64_t a = 0; a < facts_.actions; ++a) line += base::printed(",%.6g", action.data_ptr<float>()[a]);
      write(line + "\n");
    }
  }
  return {};
}

}  // namespace primal::tasks
