#include "environments/robot_policies.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "base/json_fields.h"
#include "base/json_file.h"
#include "base/text.h"

namespace primal::environments {

namespace {

/// Looks at snapshots again, each but once.
class Judge {
 public:
  Judge(const ArsTraining& training, const Player& player, uint64_t seed, const Judging& judging, const Work& work)
      : snapshots_(training.snapshots()), player_(player), seed_(seed), judging_(judging), work_(work) {}

  /// The snapshot whose return in fresh episodes is best by `worse_by` (less is better). Nothing if it was stopped.
  template <typename WorseBy>
  std::optional<size_t> choose(const WorseBy& worse_by) {
    std::vector<size_t> order(snapshots_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::less{}, [&](size_t i) { return worse_by(snapshots_[i].evaluated); });
    order.resize(std::min(order.size(), static_cast<size_t>(judging_.candidates)));
    for (const size_t i : order) {
      if (!work_.goes_on(done_, 2 * judging_.candidates)) return std::nullopt;
      look_at(i);
      ++done_;
    }
    return *std::ranges::min_element(order, std::less{}, [&](size_t i) { return worse_by(fresh_.at(i)); });
  }
  double fresh_return(size_t snapshot) const { return fresh_.at(snapshot); }

  MeasuredPolicy measure(size_t number) const {
    const Snapshot& snapshot = snapshots_[number];
    MeasuredPolicy result{.policy = snapshot.policy.rounded(),
                          .run = snapshot.run,
                          .iteration = snapshot.iteration,
                          .steps = snapshot.steps};
    result.returns = measured(player_, result.policy, seed_, Draw::measuring, judging_.measuring, work_.threads);
    result.without_noise =
        measured(player_, result.policy.without_noise(), seed_, Draw::measuring, judging_.measuring, work_.threads);
    return result;
  }

 private:
  void look_at(size_t i) {
    if (fresh_.contains(i)) return;
    const LinearPolicy policy = snapshots_[i].policy.rounded();
    fresh_[i] = measured(player_, policy, seed_, Draw::selection, judging_.episodes, work_.threads).mean;
  }

  const std::vector<Snapshot>& snapshots_;
  const Player& player_;
  uint64_t seed_;
  Judging judging_;
  const Work& work_;
  std::map<size_t, double> fresh_;
  int64_t done_ = 0;
};

MeasuredPolicy measured_policy_of(const base::Fields& fields, const RobotInfo& robot) {
  return {.policy = policy_of(fields, robot.states, robot.actions),
          .run = fields.whole("run"),
          .iteration = fields.whole("iteration"),
          .steps = fields.whole("steps"),
          .returns = returns_of(fields.object("returns")),
          .without_noise = returns_of(fields.object("returns_without_noise"))};
}

}  // namespace

double RobotPolicies::score(double episode_return) const {
  return 100 * (episode_return - random.mean) / (expert.returns.mean - random.mean);
}

std::optional<RobotPolicies> chosen_policies(Robot robot, const ArsTraining& training, const Player& player,
                                             const Player& at_random, uint64_t seed, const Judging& judging,
                                             const Work& work) {
  const RobotInfo& about = info(robot);
  RobotPolicies result{.robot = robot};
  const LinearPolicy nobody = LinearPolicy::at_rest(about.states, about.actions, 0);
  result.random = measured(at_random, nobody, seed, Draw::measuring, judging.measuring, work.threads);
  Judge judge(training, player, seed, judging, work);
  const auto expert = judge.choose([](double mean) { return -mean; });
  if (!expert) return std::nullopt;
  result.expert = judge.measure(*expert);
  const double wanted = result.random.mean + (result.expert.returns.mean - result.random.mean) / 3;
  const auto medium = judge.choose([wanted](double mean) { return std::abs(mean - wanted); });
  if (!medium) return std::nullopt;
  result.medium = judge.measure(*medium);
  result.made = {{"algorithm", "ARS V2-t"},        {"options", to_json(training.plan().options)},
                 {"runs", training.plan().runs},   {"first_steps", training.plan().first_steps},
                 {"steps", training.plan().steps}, {"seed", seed}};
  return result;
}

nlohmann::json to_json(const MeasuredPolicy& policy) {
  nlohmann::json json = to_json(policy.policy);
  json["run"] = policy.run;
  json["iteration"] = policy.iteration;
  json["steps"] = policy.steps;
  json["returns"] = to_json(policy.returns);
  json["returns_without_noise"] = to_json(policy.without_noise);
  return json;
}

nlohmann::json to_json(const RobotPolicies& policies) {
  return {{"robot", info(policies.robot).name},
          {"made", policies.made},
          {"random", {{"returns", to_json(policies.random)}}},
          {"medium", to_json(policies.medium)},
          {"expert", to_json(policies.expert)}};
}

std::string file_text(const RobotPolicies& policies) {
  std::string text = "{";
  std::string_view between = "\n";
  const nlohmann::json json = to_json(policies);
  for (const auto& [part, fields] : json.items()) {
    text.append(between).append(nlohmann::json(part).dump() + ": ");
    between = ",\n";
    if (!fields.is_object()) {
      text += fields.dump();
      continue;
    }
    std::string_view between_fields = "{\n ";
    for (const auto& [key, value] : fields.items()) {
      text.append(between_fields).append(nlohmann::json(key).dump() + ": " + value.dump());
      between_fields = ",\n ";
    }
    text += "}";
  }
  return text + "\n}\n";
}

RobotPolicies read_policies(const std::filesystem::path& file, Robot robot) {
  const std::string where = file.string();
  const nlohmann::json json = base::read_json(file);
  if (!json.is_object()) base::fail(where, "expected a JSON object");
  const base::Fields fields(json, where);
  const RobotInfo& about = info(robot);
  if (fields.text("robot") != about.name) {
    base::fail(where, "expected policies of ", about.name, ", got those of ", base::in_quotes(fields.text("robot")));
  }
  RobotPolicies policies{.robot = robot};
  policies.random = returns_of(fields.object("random").object("returns"));
  policies.medium = measured_policy_of(fields.object("medium"), about);
  policies.expert = measured_policy_of(fields.object("expert"), about);
  if (!(policies.expert.returns.mean > policies.random.mean)) {
    base::fail(where, "expected an expert that earns more than ", policies.random.mean, ", the return of random ",
               "actions, got ", policies.expert.returns.mean);
  }
  if (json.contains("made")) policies.made = json["made"];
  return policies;
}

}  // namespace primal::environments
