#include "tasks/offline_rl/task.h"

#include <ATen/ATen.h>
#include <torch/utils.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/text.h"
#include "environments/environment.h"
#include "models/action_error.h"
#include "primal/error.h"
#include "tasks/offline_rl/home_sets.h"
#include "tasks/offline_rl/trajectory_sets.h"

namespace primal::tasks {

namespace {

constexpr int64_t kExamples = 64;           // windows of a choice that names no number
constexpr int64_t kHoldOutSeed = 1;         // every seed of a run holds out the same
constexpr int64_t kTestEpisodes = 1 << 20;  // number of the first one: far from those of the validation part

struct WindowBatch : train::Batch {
  using Batch::Batch;

  models::DecisionWindows windows;
};

void check_actions(const data::Trajectories& trajectories, std::vector<std::string>& notes) {
  float most = 0;
  for (const float action : trajectories.actions) most = std::max(most, std::abs(action));
  if (most <= 1 + 1e-6F) return;
  notes.push_back("actions reach " + base::format_digits(most, 4) +
                  ", but those of an agent stay within 1; scale them first");
}

}  // namespace

OfflineRlTask::OfflineRlTask(const OfflineRlConfig& config, const Opening& opening)
    : config_(config), opening_(opening) {
  if (opening.facts) {
    facts_ = read_offline_facts(*opening.facts);
  } else {
    read_data();
    check_simulator();
    torch::manual_seed(static_cast<uint64_t>(config_.train.seed));
  }
  policy_ = make_policy(config_, facts_.states, facts_.actions);
}

void OfflineRlTask::read_data() {
  const std::filesystem::path file =
      config_.data.train.empty()
          ? trajectory_file(config_.data.set, opening_.search, opening_.progress, threads_of(config_.run))
          : std::filesystem::path(config_.data.train);
  const data::Trajectories all = data::read_trajectories(file);
  const OfflineFacts facts = facts_of(all, config_, file);
  if (opening_.facts && !is_of_same_data(facts_.fingerprint, facts.fingerprint)) {
    throw Error(opening_.facts->string() + ": the episodes of " + facts_.name + " have changed since this run began");
  }
  facts_ = facts;
  check_actions(all, notes_);
  if (all.unfinished > 0) {
    notes_.push_back(file.string() + ": the last " + std::to_string(all.unfinished) +
                     " steps belong to no finished episode and are left out");
  }
  hold_out(all);
}

void OfflineRlTask::hold_out(const data::Trajectories& all) {
  const auto episodes_of = [&](std::span<const int64_t> chosen) {
    return Episodes(all, chosen, facts_, config_.data.return_scale, config_.data.delayed);
  };
  std::vector<int64_t> chosen = best_episodes(all, config_.data.best_share);
  if (facts_.robot) {
    train_ = episodes_of(chosen);
    return;
  }
  const auto count = std::ssize(chosen);
  const auto held = std::max<int64_t>(1, std::llround(config_.data.validation * static_cast<double>(count)));
  if (held >= count) {
    base::fail(facts_.name, count, " episodes, expected at least 2: one is held out where no robot can be played");
  }
  std::vector<int64_t> out, in;
  for (const int64_t place : train::shuffled(count, kHoldOutSeed, /*pass=*/0))
    (std::ssize(out) < held ? out : in).push_back(chosen[static_cast<size_t>(place)]);
  std::ranges::sort(in);
  std::ranges::sort(out);
  train_ = episodes_of(in);
  validation_ = episodes_of(out);
}

// Before the first step, not at the first evaluation.
void OfflineRlTask::check_simulator() const {
  if (facts_.robot) environments::simulator(*facts_.robot, config_.data.version);
}

const train::Metric& OfflineRlTask::metric() const {
  static const train::Metric score{.key = "normalised_score", .name = "normalised score"};
  static const train::Metric error{.key = "action_error", .name = "action error", .lower_is_better = true};
  return facts_.robot ? score : error;
}

std::unique_ptr<train::Batch> OfflineRlTask::batch(std::vector<int64_t> examples, base::Random /*random*/) const {
  auto result = std::make_unique<WindowBatch>(std::move(examples));
  std::vector<Stretch> stretches;
  for (const int64_t row : result->examples) stretches.push_back(train_.from(row, config_.model.steps));
  result->windows = train_.windows(stretches, config_.model.steps);
  result->weight = real_steps(result->windows);
  return result;
}

train::BatchLoss OfflineRlTask::loss(train::Batch& batch) {
  const models::DecisionWindows& windows = static_cast<WindowBatch&>(batch).windows;
  const KsvdListener heard(config_.loss);
  const PolicyOutput output = policy_->forward(windows);
  const torch::Tensor error = models::action_error(output.actions, windows.actions, windows.padding);
  train::BatchLoss result{
      .total = error, .task = error.item<double>(), .objective = {}, .tokens = 3 * windows.timesteps.numel()};
  if (config_.is_cloning()) result.tokens = windows.timesteps.numel();
  if (!facts_.robot) result.score = error.item<double>() * static_cast<double>(batch.weight);
  add_ksvd(result, output.terms, config_.loss, heard);
  return result;
}

Evaluation OfflineRlTask::evaluate(Part part) {
  if (facts_.robot) return rollouts(part);
  const double error = action_error(this->part(part));
  return {.score = error, .loss = error};
}

std::vector<double> OfflineRlTask::targets() const {
  return config_.eval.targets.empty() ? facts_.targets : config_.eval.targets;
}

Evaluation OfflineRlTask::rollouts(Part part) {
  const bool is_test = part == Part::test;
  const RolloutOrder order{.targets = targets(),
                           .episodes = is_test ? config_.eval.episodes : config_.eval.quick_episodes,
                           .seed = static_cast<uint64_t>(config_.train.seed),
                           .first = is_test ? kTestEpisodes : 0,
                           .threads = threads_of(config_.run),
                           .keep_positions = is_test};
  const std::vector<PlayedEpisode> episodes = tasks::play(*policy_, facts_, config_, order);
  Evaluation evaluation = evaluation_of(episodes, facts_.normalisation, config_.eval.score);
  if (is_test) put(evaluation, details_of(episodes, facts_, config_));
  return evaluation;
}

std::vector<PlayedEpisode> OfflineRlTask::play(std::vector<double> targets, int64_t episodes, uint64_t seed) {
  if (!facts_.robot) throw Error(facts_.name + ": no robot that could be played");
  if (targets.empty()) targets = this->targets();
  return tasks::play(*policy_, facts_, config_,
                     {.targets = targets,
                      .episodes = episodes,
                      .seed = seed,
                      .threads = threads_of(config_.run),
                      .keep_positions = true});
}

nlohmann::json OfflineRlTask::facts() const { return to_json(facts_); }

bool OfflineRlTask::has(Part part) const { return facts_.robot || part != Part::test; }

std::string OfflineRlTask::description() const {
  std::string text =
      facts_.name + ": " + std::to_string(train_.episodes()) + " episodes, " + std::to_string(train_.rows()) + " steps";
  if (!facts_.robot) return text + "; " + std::to_string(validation_.episodes()) + " episodes held out";
  const auto [least, most] = std::ranges::minmax(facts_.data_returns);
  text += base::printed(", returns %.0f to %.0f", least, most);
  if (!policy_->takes_targets()) return text;
  std::vector<std::string> asked;
  for (const double target : targets()) asked.push_back(base::printed("%.0f", target));
  return text + "; asked for " + base::joined(asked, " and ");
}

const Episodes& OfflineRlTask::part(Part part) {
  if (train_.rows() == 0) read_data();
  return part == Part::train ? train_ : validation_;
}

std::string OfflineRlTask::describe(const DataChoice& choice) {
  if (choice.file) return choice.file->string();
  if (choice.part != Part::train && facts_.robot) {
    const bool is_test = choice.part == Part::test;
    const std::string episodes = std::to_string(is_test ? config_.eval.episodes : config_.eval.quick_episodes);
    return facts_.name + ": " + episodes + " episodes" + (policy_->takes_targets() ? " of each target" : "") +
           ", returns normalised by " + facts_.normalisation.name;
  }
  return facts_.name + (choice.part == Part::train ? " TRAIN" : " validation part") + ", windows of " +
         std::to_string(config_.model.steps) + " steps";
}

void OfflineRlTask::forward(const DataChoice& choice) {
  const torch::NoGradGuard no_grad;
  // What a robot is tested on is no data: the model then sees what it was trained on.
  const Episodes episodes = choice.file ? file(*choice.file) : part(facts_.robot ? Part::train : choice.part);
  const int64_t steps = config_.model.steps;
  int64_t count = choice.examples > 0 ? choice.examples : kExamples;
  if (choice.tokens > 0) count = std::min(count, std::max<int64_t>(1, choice.tokens / (3 * steps)));
  count = std::min(count, episodes.rows());
  std::vector<Stretch> stretches;
  for (int64_t i = 0; i < count; ++i) stretches.push_back(episodes.from(i * episodes.rows() / count, steps));
  policy_->forward(episodes.windows(stretches, steps));
}

}  // namespace primal::tasks
