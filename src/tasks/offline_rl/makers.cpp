#include "tasks/offline_rl/makers.h"

#include <array>
#include <charconv>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "base/text.h"
#include "base/write_failure.h"
#include "environments/ars_training.h"
#include "environments/recording.h"
#include "environments/robot_policies.h"
#include "tasks/offline_rl/home_sets.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

using environments::DataKind;
using environments::Robot;

constexpr const char* kSteps = "steps";
constexpr const char* kPolicy = "policy";
constexpr const char* kTrainAnew = "train";
constexpr int64_t kMostRows = 10'000'000;  // 1.6 GB of memory

int64_t steps_asked_for(const MakeRequest& request) {
  if (!request.has(kSteps)) return 0;
  const std::string& given = request.options.at(kSteps);
  int64_t steps = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), steps);
  if (error != std::errc() || end != given.data() + given.size() || steps < 1 || steps > kMostRows) {
    base::fail("--steps", "expected a whole number from 1 to ", kMostRows, ", got ", base::in_quotes(given));
  }
  return steps;
}

environments::Work work_of(const MakeRequest& request) {
  return {.threads = request.threads, .progress = request.progress, .stop = request.stop};
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) base::fail_writing(folder, "create the folder", error);
}

/// Trains the two policies of a robot, and leaves them in the folder beside the set, for others: --policy FILE.
environments::RobotPolicies train_anew(Robot robot, const MakeRequest& request) {
  const environments::RobotInfo& about = environments::info(robot);
  const std::string name(about.name);
  const auto seed = static_cast<uint64_t>(request.seed);
  const auto simulator = environments::simulator(robot);
  const environments::Player player = environments::policy_player(simulator);
  environments::ArsTraining training(environments::ars_plan(robot), seed, about.states, about.actions, player);
  make_folder(request.folder);
  const fs::path state_file = request.folder / ("." + name + "-training.json");
  const base::Interrupted interrupted("interrupted; the same command goes on with the training");
  if (!training.run(state_file, work_of(request))) throw interrupted;
  auto policies = environments::chosen_policies(robot, training, player, environments::random_player(simulator), seed,
                                                {}, work_of(request));
  if (!policies) throw interrupted;
  policies->made["primal"] = PRIMAL_VERSION;
  const fs::path file = request.folder / (name + "-policies.json");
  base::write_file_atomically(file, file_text(*policies));
  fs::remove(state_file);
  return environments::read_policies(file, robot);  // with the digits of the file: --policy FILE gives the same bytes
}

environments::RobotPolicies policies_for(Robot robot, const MakeRequest& request) {
  if (!request.has(kPolicy)) return environments::read_policies(policies_file(robot), robot);
  const std::string& given = request.options.at(kPolicy);
  return given == kTrainAnew ? train_anew(robot, request) : environments::read_policies(given, robot);
}

bool make_home_set(const HomeSet& set, const MakeRequest& request) {
  const environments::SetOrder order{.robot = set.robot,
                                     .kind = set.kind,
                                     .steps = steps_asked_for(request),
                                     .seed = static_cast<uint64_t>(request.seed)};
  const fs::path file = request.folder / set.file_name();
  // What is missing is said now, not after minutes of work, and before there is a folder.
  if (!data::has_hdf5()) data::write_d4rl(file, {}, {});
  environments::simulator(set.robot);
  const environments::RobotPolicies policies = policies_for(set.robot, request);
  make_folder(request.folder);
  auto recording = environments::record_set(order, policies, work_of(request));
  if (!recording) return false;
  recording->trajectories.made["primal"] = PRIMAL_VERSION;
  data::write_d4rl(file, recording->trajectories, recording->next_states);
  return true;
}

// A maker is a plain function: one for each set.
template <Robot robot, DataKind kind>
bool make_one(const MakeRequest& request) {
  return make_home_set({.robot = robot, .kind = kind}, request);
}

using Make = bool (*)(const MakeRequest&);

template <Robot robot>
Make make_function(DataKind kind) {
  switch (kind) {
    case DataKind::random:
      return make_one<robot, DataKind::random>;
    case DataKind::medium:
      return make_one<robot, DataKind::medium>;
    case DataKind::expert:
      return make_one<robot, DataKind::expert>;
    case DataKind::medium_replay:
      return make_one<robot, DataKind::medium_replay>;
    case DataKind::medium_expert:
      break;
  }
  return make_one<robot, DataKind::medium_expert>;
}

Make make_function(const HomeSet& set) {
  switch (set.robot) {
    case Robot::half_cheetah:
      return make_function<Robot::half_cheetah>(set.kind);
    case Robot::hopper:
      return make_function<Robot::hopper>(set.kind);
    case Robot::walker2d:
      break;
  }
  return make_function<Robot::walker2d>(set.kind);
}

std::string help_of(const HomeSet& set) {
  const std::string title(environments::info(set.robot).title);
  switch (set.kind) {
    case DataKind::random:
      return title + ", random actions: 100,000 steps, seconds";
    case DataKind::medium:
      return title + ", a policy at a third of the expert: 100,000 steps, seconds";
    case DataKind::expert:
      return title + ", the best policy: 100,000 steps, seconds";
    case DataKind::medium_replay:
      return title + ", all that is tried in a training up to medium: 100,000 to 500,000 steps, a minute";
    case DataKind::medium_expert:
      break;
  }
  return title + ", half medium, half expert: 200,000 steps, half a minute";
}

std::vector<MakeFlag> flags_of(const HomeSet& set) {
  const bool is_replay = set.kind == DataKind::medium_replay;
  return {
      {.name = kSteps,
       .help = is_replay ? "keep at most so many, the last ones; default 1000000"
                         : "how many, up to the end of an episode; default " +
                               std::to_string(environments::default_steps(set.kind)),
       .value = "N"},
      {.name = kPolicy,
       .help = "policies to record with; train: trains them anew, some minutes; default those that come with primal",
       .value = "FILE"}};
}

}  // namespace

std::span<const DataMaker> offline_rl_makers() {
  static std::list<std::string> texts;  // what the names and helps point to
  static const std::vector<DataMaker> makers = [] {
    std::vector<DataMaker> all;
    for (const HomeSet& set : home_sets()) {
      const std::string& name = texts.emplace_back("offline-rl/" + set.name());
      const std::string& help = texts.emplace_back(help_of(set));
      all.push_back({.name = name, .help = help, .flags = flags_of(set), .make = make_function(set)});
    }
    return all;
  }();
  return makers;
}

}  // namespace primal::tasks
