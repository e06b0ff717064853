#include "environments/recording.h"

#include <algorithm>
#include <array>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "environments/rounded.h"

namespace primal::environments {

namespace {

constexpr std::array<DataKind, 5> kAllKinds = {DataKind::random, DataKind::medium, DataKind::expert,
                                               DataKind::medium_replay, DataKind::medium_expert};
constexpr base::Names<DataKind, 5> kKindNames = {{{"random", DataKind::random},
                                                  {"medium", DataKind::medium},
                                                  {"expert", DataKind::expert},
                                                  {"medium-replay", DataKind::medium_replay},
                                                  {"medium-expert", DataKind::medium_expert}}};
// Played between two questions whether to stop: enough for several threads, half a second or so.
constexpr int64_t kEpisodesAtOnce = 16;

void append_all(std::vector<float>& numbers, const std::vector<float>& more) {
  numbers.insert(numbers.end(), more.begin(), more.end());
}

/// The last trials of a training, up to so many steps.
class ReplayBuffer {
 public:
  explicit ReplayBuffer(int64_t most_steps) : most_steps_(most_steps) {}

  void add(std::vector<Rollout> rollouts) {
    for (Rollout& rollout : rollouts) {
      steps_ += rollout.steps();
      kept_.push_back(std::move(rollout));
    }
    while (kept_.size() > 1 && steps_ > most_steps_) {
      steps_ -= kept_.front().steps();
      kept_.pop_front();
    }
  }
  Recording recording() const {
    Recording result;
    for (const Rollout& rollout : kept_) result.add(rollout);
    return result;
  }

 private:
  int64_t most_steps_, steps_ = 0;
  std::deque<Rollout> kept_;
};

/// One part of a set, recorded with one policy.
struct Part {
  DataKind kind;
  int64_t steps;
};

std::optional<Recording> record_part(const SetOrder& order, const Part& part, const RobotPolicies& policies,
                                     const Work& work) {
  const auto robot = simulator(order.robot);
  if (part.kind == DataKind::random) {
    return record_episodes(random_player(robot), {}, order.seed, Draw::random, part.steps, work);
  }
  const bool is_expert = part.kind == DataKind::expert;
  return record_episodes(policy_player(robot), (is_expert ? policies.expert : policies.medium).policy, order.seed,
                         is_expert ? Draw::expert : Draw::medium, part.steps, work);
}

/// Medium first, as D4RL has it; the episodes are the first ones of the sets that have only one of the two.
std::optional<Recording> record_both(const SetOrder& order, int64_t steps, const RobotPolicies& policies,
                                     const Work& work) {
  Recording all;
  int64_t before = 0;
  for (const Part& part : {Part{DataKind::medium, steps / 2}, Part{DataKind::expert, steps - steps / 2}}) {
    Work share = work;
    share.progress = [&](int64_t done, int64_t) {
      if (work.progress) work.progress(before + done, steps);
    };
    auto recorded = record_part(order, part, policies, share);
    if (!recorded) return std::nullopt;
    before += part.steps;
    all.add(*recorded);
  }
  return all;
}

std::optional<Recording> record_replay_set(const SetOrder& order, int64_t steps, const RobotPolicies& policies,
                                           const Work& work, nlohmann::json& made) {
  const RobotInfo& robot = info(order.robot);
  const ReplayOrder replay_order{.plan = ars_plan(order.robot),
                                 .states = robot.states,
                                 .actions = robot.actions,
                                 .seed = order.seed,
                                 .goal = policies.medium.returns.mean,
                                 .kept_steps = steps};
  auto replay = record_replay(replay_order, policy_player(simulator(order.robot)), work);
  if (!replay) return std::nullopt;
  made["training"] = {{"options", to_json(replay_order.plan.options)},
                      {"goal", replay_order.goal},
                      {"run", replay->run},
                      {"iterations", replay->iterations},
                      {"steps", replay->steps},
                      {"reached", rounded_to(7, replay->reached)}};
  return std::move(replay->recording);
}

void add_policies(DataKind kind, const RobotPolicies& policies, nlohmann::json& made) {
  made["random_return"] = policies.random.mean;
  made["expert_return"] = policies.expert.returns.mean;
  made["random_episodes"] = policies.random.episodes;
  made["expert_episodes"] = policies.expert.returns.episodes;
  if (kind == DataKind::random) return;
  made["noise"] = policies.expert.policy.noise;
  if (kind == DataKind::medium_replay) return;
  if (kind != DataKind::expert) made["policy"]["medium"] = to_json(policies.medium);
  if (kind != DataKind::medium) made["policy"]["expert"] = to_json(policies.expert);
  made["policy"]["made"] = policies.made;
}

}  // namespace

std::span<const DataKind> data_kinds() { return kAllKinds; }

std::string_view name_of(DataKind kind) { return base::name_in(kKindNames, kind); }

void Recording::add(const Rollout& rollout) {
  data::Trajectories& target = trajectories;
  if (rollout.steps() == 0) return;
  target.state_size = std::ssize(rollout.states) / rollout.steps();
  target.action_size = std::ssize(rollout.actions) / rollout.steps();
  const int64_t rows = target.rows();
  target.episodes.push_back({.begin = rows, .end = rows + rollout.steps(), .terminated = rollout.terminated});
  append_all(target.states, rollout.states);
  append_all(target.actions, rollout.actions);
  append_all(target.rewards, rollout.rewards);
  append_all(next_states, rollout.next_states);
}

void Recording::add(const Recording& more) {
  data::Trajectories& target = trajectories;
  const int64_t rows = target.rows();
  target.state_size = more.trajectories.state_size;
  target.action_size = more.trajectories.action_size;
  for (data::Episode episode : more.trajectories.episodes) {
    episode.begin += rows, episode.end += rows;
    target.episodes.push_back(episode);
  }
  append_all(target.states, more.trajectories.states);
  append_all(target.actions, more.trajectories.actions);
  append_all(target.rewards, more.trajectories.rewards);
  append_all(next_states, more.next_states);
}

std::optional<Recording> record_episodes(const Player& player, const LinearPolicy& policy, uint64_t seed, Draw draw,
                                         int64_t steps, const Work& work) {
  Recording recording;
  for (int64_t first = 0; recording.trajectories.rows() < steps; first += kEpisodesAtOnce) {
    if (!work.goes_on(recording.trajectories.rows(), steps)) return std::nullopt;
    for (const Rollout& rollout : play_episodes(player, policy, seed, draw, first, kEpisodesAtOnce, work.threads)) {
      if (recording.trajectories.rows() < steps) recording.add(rollout);
    }
  }
  work.goes_on(steps, steps);
  return recording;
}

std::optional<Replay> record_replay(const ReplayOrder& order, const Player& player, const Work& work) {
  const ArsPlan& plan = order.plan;
  for (int64_t run = 0; run < plan.runs; ++run) {
    Ars ars(plan.options, seed_of_run(order.seed, run), order.states, order.actions, player);
    ReplayBuffer buffer(order.kept_steps);
    while (ars.state().steps < order.most_steps) {
      if (!work.goes_on(ars.state().steps, order.most_steps)) return std::nullopt;
      buffer.add(ars.iterate(work.threads));
      if (ars.state().iteration % plan.every != 0) continue;
      const double reached = ars.evaluated(plan.episodes, work.threads);
      if (reached < order.goal) continue;
      work.goes_on(order.most_steps, order.most_steps);
      return Replay{.recording = buffer.recording(),
                    .run = run,
                    .iterations = ars.state().iteration,
                    .steps = ars.state().steps,
                    .reached = reached};
    }
  }
  base::fail("medium-replay", "expected a policy that earns ", order.goal, " within ", order.most_steps, " steps, but ",
             plan.runs, " trainings of seed ", order.seed, " did not get there; try another seed");
}

int64_t default_steps(DataKind kind) {
  switch (kind) {
    case DataKind::medium_replay:
      return 1'000'000;  // at most: a training gets there with a third of it
    case DataKind::medium_expert:
      return 200'000;
    default:
      return 100'000;  // a minute at most
  }
}

std::optional<Recording> record_set(const SetOrder& order, const RobotPolicies& policies, const Work& work) {
  const int64_t steps = order.steps > 0 ? order.steps : default_steps(order.kind);
  nlohmann::json made = {{"robot", info(order.robot).name},
                         {"kind", name_of(order.kind)},
                         {"seed", order.seed},
                         {"version", "v4"},
                         {"algorithm", "ARS V2-t"}};
  if (order.kind == DataKind::random) made["algorithm"] = "random";
  std::optional<Recording> recording;
  if (order.kind == DataKind::medium_replay) {
    recording = record_replay_set(order, steps, policies, work, made);
  } else if (order.kind == DataKind::medium_expert) {
    recording = record_both(order, steps, policies, work);
  } else {
    recording = record_part(order, {order.kind, steps}, policies, work);
  }
  if (!recording) return std::nullopt;
  add_policies(order.kind, policies, made);
  made["steps"] = recording->trajectories.rows();
  made["episodes"] = recording->trajectories.episodes.size();
  recording->trajectories.made = std::move(made);
  return recording;
}

}  // namespace primal::environments
