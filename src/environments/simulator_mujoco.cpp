#include "environments/simulator_mujoco.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/text.h"

namespace primal::environments {

namespace fs = std::filesystem;

namespace {

// By itself MuJoCo adds both kinds of messages to a file in the working directory. Warnings are of robots thrown so far
// that the numbers overflow: it then puts them back to their start, as it does under gymnasium.
void ignore_warning(const char*) {}

// It cannot go on, nor is its C code made for exceptions to pass through.
void end_with_error(const char* message) {
  std::fprintf(stderr, "MuJoCo: %s\n", message);
  std::_Exit(1);
}

fs::path folder_of_models() {
  const char* const chosen = std::getenv("PRIMAL_ROBOTS");
  return chosen && *chosen ? chosen : PRIMAL_ROBOT_MODELS;
}

void check_sizes(const mjModel& model, const RobotInfo& robot, const fs::path& file) {
  if (model.nu != robot.actions || model.nq + model.nv - 1 != robot.states) {
    base::fail(file.string(), "a model with ", model.nq + model.nv - 1, " states and ", model.nu, " actions, but ",
               robot.title, " has ", robot.states, " and ", robot.actions);
  }
}

}  // namespace

Simulator::Simulator(Robot robot, Version version, const fs::path& file)
    : robot_(info(robot)), rules_(environments::rules(robot, version)) {
  if (!fs::is_regular_file(file)) {
    base::fail(file.string(), "there is no such model of ", robot_.title,
               " (PRIMAL_ROBOTS may name the folder with gymnasium's XML files)");
  }
  std::array<char, 1000> reason{};
  model_.reset(mj_loadXML(file.c_str(), nullptr, reason.data(), static_cast<int>(reason.size())));
  if (!model_) base::fail(file.string(), base::in_quotes(base::trim(reason.data())));
  check_sizes(*model_, robot_, file);
}

bool has_simulator() { return true; }

std::shared_ptr<const Simulator> simulator(Robot robot, Version version) {
  static std::mutex mutex;
  static std::map<std::pair<Version, fs::path>, std::shared_ptr<const Simulator>> made;
  const std::lock_guard lock(mutex);
  mju_user_warning = ignore_warning;
  mju_user_error = end_with_error;
  const fs::path file = folder_of_models() / environments::rules(robot, version).file;
  std::shared_ptr<const Simulator>& kept = made[{version, file}];
  if (!kept) kept = std::make_shared<const Simulator>(robot, version, file);
  return kept;
}

}  // namespace primal::environments
