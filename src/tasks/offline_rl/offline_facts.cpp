// What is known of a set of episodes: sizes, scales, targets, and whose they are.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "base/json_fields.h"
#include "base/json_file.h"
#include "base/text.h"
#include "tasks/offline_rl/home_sets.h"
#include "tasks/offline_rl/offline_data.h"
#include "tasks/offline_rl/trajectory_sets.h"

namespace primal::tasks {

namespace {

using environments::Robot;

constexpr double kLeastDeviation = 1e-6;  // added, as published
constexpr int64_t kMostReturns = 2000;    // of a histogram

std::optional<Robot> robot_of_text(std::string text) {
  for (const environments::RobotInfo& robot : environments::robots()) {
    if (text.starts_with(robot.name)) return robot.robot;
  }
  return std::nullopt;
}

// A file of primal says it; those of D4RL do by their names.
std::optional<Robot> robot_of(const data::Trajectories& trajectories, const OfflineRlConfig& config,
                              const std::filesystem::path& file) {
  if (config.data.train.empty()) return robot_of_text(config.data.set);
  if (config.data.robot == "none") return std::nullopt;
  if (config.data.robot != "auto") return environments::robot_named(config.data.robot, "data.robot");
  const nlohmann::json& made = trajectories.made;
  if (made.is_object() && made.contains("robot") && made.at("robot").is_string()) {
    return robot_of_text(made.at("robot").get<std::string>());
  }
  if (const auto robot = robot_of_text(file.filename().string())) return robot;
  base::fail(file.string(), "does not say which robot it is of; set data.robot to one, or to none");
}

void check_sizes(const data::Trajectories& trajectories, const environments::RobotInfo& robot,
                 const std::filesystem::path& file) {
  const auto check = [&](const char* what, int64_t got, int64_t expected) {
    if (got == expected) return;
    base::fail(file.string(), what, " of ", got, " numbers, expected ", expected, " for ", robot.title);
  };
  check("states", trajectories.state_size, robot.states);
  check("actions", trajectories.action_size, robot.actions);
}

double number_of(const nlohmann::json& made, const char* key) {
  return made.is_object() && made.contains(key) && made.at(key).is_number() ? made.at(key).get<double>() : std::nan("");
}

Normalisation normalisation_of(const data::Trajectories& trajectories, const environments::RobotInfo& robot) {
  const double at_random = number_of(trajectories.made, "random_return");
  const double expert = number_of(trajectories.made, "expert_return");
  if (expert > at_random) return {"this set", at_random, expert};
  return {"D4RL", robot.d4rl_random, robot.d4rl_expert};
}

void standardise(const data::Trajectories& trajectories, OfflineFacts& facts) {
  const auto size = static_cast<size_t>(trajectories.state_size);
  const auto rows = static_cast<double>(trajectories.rows());
  facts.mean.assign(size, 0);
  facts.deviation.assign(size, 0);
  for (size_t i = 0; i < trajectories.states.size(); ++i) facts.mean[i % size] += trajectories.states[i] / rows;
  for (size_t i = 0; i < trajectories.states.size(); ++i) {
    const double distance = trajectories.states[i] - facts.mean[i % size];
    facts.deviation[i % size] += distance * distance / rows;
  }
  for (double& value : facts.deviation) value = std::sqrt(value) + kLeastDeviation;
}

std::string fingerprint_of(const data::Trajectories& trajectories) {
  const auto of = [](const std::vector<float>& values) {
    return base::crc32c_text({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  };
  std::vector<float> ends;
  for (const data::Episode& episode : trajectories.episodes) ends.push_back(static_cast<float>(episode.size()));
  return of(trajectories.states) + of(trajectories.actions) + of(trajectories.rewards) + of(ends);
}

std::vector<double> some_of(const std::vector<double>& returns) {
  const int64_t all = std::ssize(returns), kept = std::min(all, kMostReturns);
  std::vector<double> some;
  for (int64_t i = 0; i < kept; ++i) some.push_back(returns[static_cast<size_t>(i * all / kept)]);
  return some;
}

nlohmann::json to_json(const Normalisation& normalisation) {
  return {{"name", normalisation.name},
          {"random_return", normalisation.random_return},
          {"expert_return", normalisation.expert_return}};
}

}  // namespace

OfflineFacts facts_of(const data::Trajectories& trajectories, const OfflineRlConfig& config,
                      const std::filesystem::path& file) {
  const bool is_own = !config.data.train.empty();
  OfflineFacts facts{.name = is_own ? file.stem().string() : config.data.set,
                     .robot = robot_of(trajectories, config, file),
                     .states = trajectories.state_size,
                     .actions = trajectories.action_size,
                     .fingerprint = fingerprint_of(trajectories)};
  standardise(trajectories, facts);
  std::vector<double> returns;
  for (const data::Episode& episode : trajectories.episodes) returns.push_back(trajectories.episode_return(episode));
  facts.data_returns = some_of(returns);
  if (!facts.robot) return facts;
  const environments::RobotInfo& robot = environments::info(*facts.robot);
  check_sizes(trajectories, robot, file);
  facts.normalisation = normalisation_of(trajectories, robot);
  const double best = *std::ranges::max_element(returns);
  facts.targets =
      !is_own && d4rl_set(config.data.set) ? published_targets(robot.robot) : std::vector<double>{best, best / 2};
  return facts;
}

nlohmann::json to_json(const OfflineFacts& facts) {
  nlohmann::json json = {{"name", facts.name},
                         {"states", facts.states},
                         {"actions", facts.actions},
                         {"mean", facts.mean},
                         {"deviation", facts.deviation},
                         {"targets", facts.targets},
                         {"data_returns", facts.data_returns},
                         {"fingerprint", facts.fingerprint}};
  if (!facts.robot) return json;
  json["robot"] = environments::info(*facts.robot).name;
  json["normalisation"] = to_json(facts.normalisation);
  return json;
}

OfflineFacts read_offline_facts(const std::filesystem::path& path) {
  const nlohmann::json json = base::read_json(path);
  const base::Fields fields(json, path.string());
  OfflineFacts facts{.name = fields.text("name"),
                     .states = fields.whole("states"),
                     .actions = fields.whole("actions"),
                     .mean = fields.numbers_if_any("mean"),
                     .deviation = fields.numbers_if_any("deviation"),
                     .targets = fields.numbers_if_any("targets"),
                     .data_returns = fields.numbers_if_any("data_returns"),
                     .fingerprint = fields.text("fingerprint")};
  for (const char* key : {"mean", "deviation"}) {
    const size_t count = fields.numbers_if_any(key).size();
    if (std::cmp_not_equal(count, facts.states)) {
      fields.fail(key, "expected " + std::to_string(facts.states) + " numbers, got " + std::to_string(count));
    }
  }
  if (!json.contains("robot")) return facts;
  facts.robot = environments::robot_named(fields.text("robot"), path.string());
  const base::Fields normalisation = fields.object("normalisation");
  facts.normalisation = {normalisation.text("name"), normalisation.number("random_return"),
                         normalisation.number("expert_return")};
  return facts;
}

}  // namespace primal::tasks
