#include "environments/ars_training.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json_fields.h"
#include "base/json_file.h"

namespace primal::environments {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kBetweenSaves{5};

nlohmann::json snapshot_json(const Snapshot& snapshot) {
  return {{"run", snapshot.run},
          {"iteration", snapshot.iteration},
          {"steps", snapshot.steps},
          {"evaluated", snapshot.evaluated},
          {"policy", to_json(snapshot.policy)}};
}

Snapshot snapshot_of(const base::Fields& fields, int64_t states, int64_t actions) {
  return {.run = fields.whole("run"),
          .iteration = fields.whole("iteration"),
          .steps = fields.whole("steps"),
          .evaluated = fields.number("evaluated"),
          .policy = policy_of(fields.object("policy"), states, actions)};
}

}  // namespace

ArsPlan ars_plan(Robot robot) {
  ArsPlan plan{.options = ars_options(robot)};
  // A minute or so of one core for each run, then some minutes for the best.
  switch (robot) {
    case Robot::half_cheetah:
      plan.first_steps = 1'600'000, plan.steps = 6'000'000;
      break;
    case Robot::hopper:
      plan.first_steps = 800'000, plan.steps = 2'500'000;
      break;
    case Robot::walker2d:
      plan.first_steps = 500'000, plan.steps = 2'000'000;
      break;
  }
  return plan;
}

bool Work::goes_on(int64_t done, int64_t of) const {
  if (progress) progress(std::min(done, of), of);
  return !stop || !stop();
}

uint64_t seed_of_run(uint64_t seed, int64_t run) { return drawn(seed, Draw::run, run).next(); }

ArsTraining::ArsTraining(ArsPlan plan, uint64_t seed, int64_t states, int64_t actions, Player player)
    : plan_(plan), seed_(seed), states_(states), actions_(actions) {
  for (int64_t run = 0; run < plan_.runs; ++run) {
    runs_.emplace_back(plan_.options, seed_of_run(seed, run), states, actions, player);
  }
}

bool ArsTraining::run(const std::filesystem::path& state_file, const Work& work) {
  restore_if_any(state_file);
  for (int64_t run = 0; run < plan_.runs; ++run) {
    if (!advance(run, plan_.first_steps, state_file, work)) return false;
  }
  return advance(best_run(), plan_.steps, state_file, work);
}

bool ArsTraining::advance(int64_t run, int64_t steps, const std::filesystem::path& state_file, const Work& work) {
  Ars& ars = runs_[static_cast<size_t>(run)];
  auto saved = Clock::now();
  while (ars.state().steps < steps) {
    if (!work.goes_on(done_steps(), plan_.all_steps())) {
      save(state_file);
      return false;
    }
    ars.iterate(work.threads);
    if (ars.state().iteration % plan_.every == 0) {
      snapshots_.push_back({.run = run,
                            .iteration = ars.state().iteration,
                            .steps = ars.state().steps,
                            .evaluated = ars.evaluated(plan_.episodes, work.threads),
                            .policy = ars.policy()});
    }
    if (Clock::now() - saved < kBetweenSaves) continue;
    save(state_file);
    saved = Clock::now();
  }
  return true;
}

// By its snapshots of the first steps alone, so that a training that went on chooses as it did before.
int64_t ArsTraining::best_run() const {
  int64_t best = 0;
  double most = -std::numeric_limits<double>::infinity();
  for (const Snapshot& snapshot : snapshots_) {
    if (snapshot.steps > plan_.first_steps || snapshot.evaluated <= most) continue;
    most = snapshot.evaluated;
    best = snapshot.run;
  }
  return best;
}

int64_t ArsTraining::done_steps() const {
  int64_t steps = 0;
  for (const Ars& ars : runs_) steps += ars.state().steps;
  return steps;
}

nlohmann::json ArsTraining::identity() const {
  return {{"options", to_json(plan_.options)},
          {"seed", seed_},
          {"states", states_},
          {"actions", actions_},
          {"runs", plan_.runs},
          {"first_steps", plan_.first_steps},
          {"steps", plan_.steps},
          {"every", plan_.every},
          {"episodes", plan_.episodes}};
}

void ArsTraining::save(const std::filesystem::path& state_file) const {
  nlohmann::json runs = nlohmann::json::array(), snapshots = nlohmann::json::array();
  for (const Ars& ars : runs_) runs.push_back(to_json(ars.state()));
  for (const Snapshot& snapshot : snapshots_) snapshots.push_back(snapshot_json(snapshot));
  const nlohmann::json all = {{"training", identity()}, {"runs", runs}, {"snapshots", snapshots}};
  base::write_file_atomically(state_file, all.dump());
}

void ArsTraining::restore_if_any(const std::filesystem::path& state_file) {
  const auto text = base::read_text_if_any(state_file);
  if (!text) return;
  const std::string where = state_file.string();
  const nlohmann::json json = base::parse_object(*text, where);
  if (!json.contains("training") || json.at("training") != identity()) return;  // of another: this one begins anew
  const base::Fields fields(json, where);
  const std::vector<base::Fields> runs = fields.objects("runs");
  if (runs.size() != runs_.size()) fields.fail("runs", "expected " + std::to_string(runs_.size()));
  for (size_t i = 0; i < runs.size(); ++i) runs_[i].go_on_from(ars_state_of(runs[i], states_, actions_));
  snapshots_.clear();
  for (const base::Fields& snapshot : fields.objects("snapshots")) {
    snapshots_.push_back(snapshot_of(snapshot, states_, actions_));
  }
}

}  // namespace primal::environments
