// Offline reinforcement learning as a task: batches and losses, what is held out, evaluations, and what cannot be.
#include "tasks/offline_rl/task.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "models/behaviour_cloning.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/tensors.h"
#include "tasks/offline_rl/small_agents.h"

namespace primal::tasks {
namespace {

using tests::close;
using tests::contains;
using tests::error_of;
using tests::random_episodes;
using tests::small_agent;
using tests::small_cloning;
using torch::Tensor;

// Any sum of these says which ones it is of.
const std::vector<int64_t> kLengths = {1, 2, 4, 8, 16, 32};

/// Own episodes of nothing that could be played: no simulator is needed.
class OfflineTaskTest : public tests::FolderTest {
 protected:
  void SetUp() override {
    if (!data::has_hdf5()) GTEST_SKIP() << "built without HDF5";
    config.data.train = written("mine.hdf5", all).string();
    config.data.robot = "none";
    config.data.validation = 0.34;  // two of six
    config.data.return_scale = 10;
  }

  std::filesystem::path written(const std::string& name, const data::Trajectories& trajectories) const {
    data::write_d4rl(folder / name, trajectories, {});
    return folder / name;
  }
  OfflineRlTask opened() { return OfflineRlTask(config, {}); }
  /// Of a run that was trained on these data.
  OfflineRlTask reopened() {
    const std::string facts = opened().facts().dump();
    return OfflineRlTask(config, {.search = {}, .facts = write("data.json", facts)});
  }

  /// The numbers of the episodes that a task is trained on, and of those that it holds out.
  std::pair<std::vector<int64_t>, std::vector<int64_t>> parts(const OfflineRlTask& task) const {
    std::vector<int64_t> in, out;
    for (size_t i = 0; i < kLengths.size(); ++i) {
      (task.examples() & kLengths[i] ? in : out).push_back(static_cast<int64_t>(i));
    }
    return {in, out};
  }
  Episodes episodes_of(const OfflineRlTask& task, const std::vector<int64_t>& numbers) const {
    return Episodes(all, numbers, task.offline_facts(), config.data.return_scale, config.data.delayed);
  }
  models::DecisionWindows windows_of(const OfflineRlTask& task, const std::vector<int64_t>& rows) const {
    const Episodes train = episodes_of(task, parts(task).first);
    std::vector<Stretch> stretches;
    for (const int64_t row : rows) stretches.push_back(train.from(row, config.model.steps));
    return train.windows(stretches, config.model.steps);
  }

  data::Trajectories all = random_episodes(kLengths, 5, 2);
  OfflineRlConfig config = small_agent();
};

std::unique_ptr<train::Batch> offline_batch(const OfflineRlTask& task, std::vector<int64_t> rows) {
  return task.batch(std::move(rows), base::Random(1));
}

models::DecisionTransformerImpl& decision_of(OfflineRlTask& task) {
  return dynamic_cast<models::DecisionTransformerImpl&>(task.model());
}

// Mean of the squared differences of those steps that are none of padding, number by number.
double plain_action_error(const Tensor& actions, const models::DecisionWindows& windows) {
  double sum = 0;
  int64_t numbers = 0;
  for (int64_t i = 0; i < actions.size(0); ++i) {
    for (int64_t step = 0; step < actions.size(1); ++step) {
      if (windows.padding && (*windows.padding)[i][step].item<bool>()) continue;
      for (int64_t j = 0; j < actions.size(2); ++j, ++numbers) {
        const double difference = (actions[i][step][j] - windows.actions[i][step][j]).item<double>();
        sum += difference * difference;
      }
    }
  }
  return sum / static_cast<double>(numbers);
}

std::vector<Tensor> taken_gradients(OfflineRlTask& task) {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : task.model().parameters()) gradients.push_back(parameter.grad().clone());
  task.model().zero_grad();
  return gradients;
}

TEST_F(OfflineTaskTest, ABatchIsTheSameWheneverItIsMade) {
  OfflineRlTask task = opened();
  const double first = task.loss(*offline_batch(task, {0, 3, 5})).task;
  EXPECT_EQ(task.loss(*task.batch({0, 3, 5}, base::Random(99))).task, first) << "there is no chance in it";
  EXPECT_NE(task.loss(*offline_batch(task, {0, 3, 6})).task, first);
}

TEST_F(OfflineTaskTest, ABatchWeighsItsRealSteps) {
  OfflineRlTask task = opened();
  for (const std::vector<int64_t>& rows : {std::vector<int64_t>{0}, {1, 2, 3}, {task.examples() - 1, 0, 0}}) {
    EXPECT_EQ(offline_batch(task, rows)->weight, real_steps(windows_of(task, rows)));
  }
  EXPECT_EQ(offline_batch(task, {task.examples() - 1})->weight, 1) << "the last step of an episode";
}

TEST_F(OfflineTaskTest, TheLossIsTheMeanErrorOfRealStepsAndTheKsvdTerm) {
  config.model.layers = {"primal", "primal"};
  config.loss.eta = 0.3;
  OfflineRlTask task = opened();
  const std::vector<int64_t> rows = {0, 7, task.examples() - 2, task.examples() - 1};
  const models::DecisionWindows windows = windows_of(task, rows);
  ASSERT_TRUE(windows.padding);
  const models::DecisionOutput output = decision_of(task).forward(windows);
  const double squares =
      (output.terms[0].objective().square().mean() + output.terms[1].objective().square().mean()).item<double>() / 2;

  const train::BatchLoss loss = task.loss(*offline_batch(task, rows));
  EXPECT_NEAR(loss.task, plain_action_error(output.actions, windows), 1e-6);
  EXPECT_NEAR(loss.ksvd, 0.3 * squares, 1e-6);
  EXPECT_NEAR(loss.total.item<double>(), loss.task + loss.ksvd, 1e-6);
  ASSERT_EQ(loss.objective.size(), 2U);
  EXPECT_NEAR(loss.objective[1], output.terms[1].objective().mean().item<double>(), 1e-6);
  EXPECT_EQ(loss.tokens, 4 * 4 * 3);
  EXPECT_NEAR(*loss.score, loss.task * static_cast<double>(real_steps(windows)), 1e-4) << "a sum over the weight";
}

TEST_F(OfflineTaskTest, TheLossOfCloningIsTheMeanErrorToo) {
  config.model.agent = Agent::behaviour_cloning;
  config.loss.eta = 0.3;
  OfflineRlTask task = opened();
  const std::vector<int64_t> rows = {0, 7, task.examples() - 1};
  const models::DecisionWindows windows = windows_of(task, rows);
  const Tensor actions =
      dynamic_cast<models::BehaviourCloningImpl&>(task.model()).forward(windows.states, windows.padding);
  const train::BatchLoss loss = task.loss(*offline_batch(task, rows));
  EXPECT_NEAR(loss.task, plain_action_error(actions, windows), 1e-6);
  EXPECT_NEAR(loss.total.item<double>(), loss.task, 1e-6) << "there is no primal layer";
  EXPECT_TRUE(loss.objective.empty());
  EXPECT_EQ(loss.tokens, 3 * 4);
}

TEST_F(OfflineTaskTest, SmallBatchesMakeTheGradientOfALargeOne) {
  for (const bool is_cloning : {false, true}) {
    SCOPED_TRACE(is_cloning);
    if (is_cloning) config.model.agent = Agent::behaviour_cloning;
    OfflineRlTask task = opened();
    const int64_t last = task.examples() - 1;
    const std::vector<std::vector<int64_t>> small = {{0, last, last - 1}, {3, 9, 10}};
    auto large = offline_batch(task, {0, last, last - 1, 3, 9, 10});
    const auto weight = static_cast<double>(large->weight);
    train::BatchLoss whole = task.loss(*large);
    whole.total.backward();
    const std::vector<Tensor> expected = taken_gradients(task);

    double sum = 0, weights = 0;
    for (const std::vector<int64_t>& rows : small) {
      auto batch = offline_batch(task, rows);
      const train::BatchLoss loss = task.loss(*batch);
      const double share = static_cast<double>(batch->weight) / weight;
      (loss.total * share).backward();
      sum += share * loss.task;
      weights += share;
    }
    const std::vector<Tensor> actual = taken_gradients(task);
    EXPECT_NEAR(weights, 1, 1e-12);
    EXPECT_NEAR(sum, whole.task, 1e-6);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(close(actual[i], expected[i], 1e-5)) << i;
  }
}

TEST_F(OfflineTaskTest, SmallBatchesOfFullWindowsMakeTheKsvdTermOfALargeOne) {
  config.loss.eta = 0.5;
  OfflineRlTask task = opened();
  std::vector<int64_t> full;
  for (int64_t row = 0; std::ssize(full) < 6; ++row) {
    if (offline_batch(task, {row})->weight == config.model.steps) full.push_back(row);
  }
  const double whole = task.loss(*offline_batch(task, full)).ksvd;
  const double first = task.loss(*offline_batch(task, {full[0], full[1]})).ksvd;
  const double second = task.loss(*offline_batch(task, {full[2], full[3], full[4], full[5]})).ksvd;
  EXPECT_NEAR((first + 2 * second) / 3, whole, 1e-6);
}

TEST_F(OfflineTaskTest, WhatStandsInPaddingIsNotFelt) {
  OfflineRlTask task = opened();
  const int64_t last = task.examples() - 1;
  task.loss(*offline_batch(task, {last})).total.backward();  // a single step, three of padding
  const std::vector<Tensor> padded = taken_gradients(task);
  config.model.steps = 1;
  OfflineRlTask tight = opened();
  torch::NoGradGuard no_grad;
  const auto from = task.model().parameters(), to = tight.model().parameters();
  for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  torch::AutoGradMode with_gradients(true);
  tight.loss(*offline_batch(tight, {last})).total.backward();
  const std::vector<Tensor> expected = taken_gradients(tight);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(close(padded[i], expected[i], 1e-5)) << i;
}

TEST_F(OfflineTaskTest, EpisodesWithoutARobotAreJudgedByThoseHeldOut) {
  const OfflineRlTask task = opened();
  EXPECT_EQ(task.metric().key, "action_error");
  EXPECT_TRUE(task.metric().lower_is_better);
  EXPECT_TRUE(task.has(Part::validation));
  EXPECT_FALSE(task.has(Part::test));
  EXPECT_EQ(parts(task).second.size(), 2U);
  EXPECT_EQ(task.description(), "mine: 4 episodes, " + std::to_string(task.examples()) + " steps; 2 episodes held out");
}

TEST_F(OfflineTaskTest, EverySeedHoldsOutTheSame) {
  const int64_t first = opened().examples();
  config.train.seed = 2;
  EXPECT_EQ(opened().examples(), first);
  config.data.validation = 0;
  EXPECT_EQ(parts(opened()).second.size(), 1U) << "at least one";
}

TEST_F(OfflineTaskTest, OnlyTheBestEpisodesAreLearntFromAndJudgedBy) {
  for (float& reward : all.rewards) reward = 1;  // the longest earn most
  config.data.train = written("equal.hdf5", all).string();
  config.data.best_share = 0.5;
  const OfflineRlTask task = opened();
  EXPECT_EQ(task.examples() & (1 + 2 + 4), 0);
  const auto [in, out] = parts(task);
  EXPECT_EQ(in.size(), 2U);
}

TEST_F(OfflineTaskTest, TheEvaluationIsTheErrorOfAllStepsHeldOut) {
  for (const bool is_cloning : {false, true}) {
    if (is_cloning) config.model.agent = Agent::behaviour_cloning;
    OfflineRlTask task = opened();
    task.model().eval();
    const torch::NoGradGuard no_grad;
    double sum = 0;
    int64_t steps = 0;
    for (const int64_t number : parts(task).second) {
      const Episodes one = episodes_of(task, {number});
      for (int64_t row = 0; row < one.rows(); row += config.model.steps) {
        const models::DecisionWindows window = one.windows(std::vector{one.from(row, 4)}, 4);
        const Tensor actions =
            is_cloning
                ? dynamic_cast<models::BehaviourCloningImpl&>(task.model()).forward(window.states, window.padding)
                : decision_of(task).forward(window).actions;
        sum += plain_action_error(actions, window) * static_cast<double>(real_steps(window));
        steps += real_steps(window);
      }
    }
    const Evaluation evaluation = task.evaluate(Part::validation);
    EXPECT_NEAR(evaluation.score, sum / static_cast<double>(steps), 1e-6);
    EXPECT_EQ(evaluation.loss, evaluation.score);
    EXPECT_TRUE(evaluation.also.empty());
  }
}

TEST_F(OfflineTaskTest, AFileIsEvaluatedLikeWhatWasHeldOut) {
  OfflineRlTask task = opened();
  task.model().eval();
  const torch::NoGradGuard no_grad;
  data::Trajectories out;
  out.state_size = 5;
  out.action_size = 2;
  for (const int64_t number : parts(task).second) {
    const data::Episode& episode = all.episodes[static_cast<size_t>(number)];
    const auto add = [&](std::vector<float>& to, const std::vector<float>& from, int64_t size) {
      to.insert(to.end(), from.begin() + episode.begin * size, from.begin() + episode.end * size);
    };
    add(out.states, all.states, 5);
    add(out.actions, all.actions, 2);
    add(out.rewards, all.rewards, 1);
    out.episodes.push_back({out.rows() - episode.size(), out.rows(), false});
  }
  EXPECT_NEAR(task.evaluate_file(written("out.hdf5", out)).score, task.evaluate(Part::validation).score, 1e-6)
      << "standardised by what the run was trained on";
}

TEST_F(OfflineTaskTest, FilesOfOtherSizesAreRefused) {
  OfflineRlTask task = opened();
  const auto path = written("other.hdf5", random_episodes({3}, 4, 2));
  const std::string complaint = path.string() + ": states of 4 and actions of 2 numbers, expected 5 and 2 as in mine";
  EXPECT_EQ(error_of([&] { task.evaluate_file(path); }), complaint);
  EXPECT_EQ(error_of([&] { task.predict({.input = path}, [](std::string_view) {}); }), complaint);
}

// -> the lines without the header
std::vector<std::string> predicted_lines(OfflineRlTask& task, const PredictRequest& request,
                                         std::string* header = nullptr) {
  std::vector<std::string> lines;
  task.predict(request, [&](std::string_view line) { lines.emplace_back(line); });
  if (header != nullptr) *header = lines.front();
  lines.erase(lines.begin());
  return lines;
}

TEST_F(OfflineTaskTest, APredictionIsALineForEachStepFromWhatWasSeenUpToIt) {
  OfflineRlTask task = reopened();
  task.model().eval();
  const auto path = folder / "mine.hdf5";
  std::string header;
  const std::vector<std::string> lines = predicted_lines(task, {.input = path}, &header);
  EXPECT_EQ(header, "episode,step,action_1,action_2\n");
  const Episodes every = episodes_of(task, {0, 1, 2, 3, 4, 5});
  ASSERT_EQ(std::ssize(lines), every.rows());
  int64_t row = 0;
  for (size_t episode = 0; episode < kLengths.size(); ++episode) {
    for (int64_t step = 0; step < kLengths[episode]; ++step, ++row) {
      const Stretch seen = every.up_to(row, 4);
      const int64_t size = seen.end - seen.begin;
      const Tensor action =
          decision_of(task).forward(every.windows(std::vector{seen}, size)).actions[0][size - 1];  // nothing is padded
      int64_t number = 0, place = 0;
      float first = 0, second = 0;
      ASSERT_EQ(
          std::sscanf(lines[static_cast<size_t>(row)].c_str(), "%ld,%ld,%f,%f\n", &number, &place, &first, &second), 4);
      EXPECT_EQ(number, static_cast<int64_t>(episode) + 1);
      EXPECT_EQ(place, step);
      EXPECT_NEAR(first, action[0].item<float>(), 1e-5);
      EXPECT_NEAR(second, action[1].item<float>(), 1e-5);
    }
  }
  EXPECT_EQ(predicted_lines(task, {.input = path, .batch = 7}).size(), lines.size());
}

// What an agent would do does not depend on what was done in its place.
TEST_F(OfflineTaskTest, APredictionDoesNotLookAtTheActionItIsFor) {
  OfflineRlTask task = reopened();
  task.model().eval();
  const std::vector<std::string> before = predicted_lines(task, {.input = folder / "mine.hdf5"});
  data::Trajectories other = all;
  for (const data::Episode& episode : all.episodes) other.actions[static_cast<size_t>(2 * episode.end - 1)] = 0.123F;
  EXPECT_EQ(predicted_lines(task, {.input = written("other.hdf5", other)}), before) << "last actions of episodes";
}

TEST_F(OfflineTaskTest, HDF5DoesNotComeThroughAPipe) {
  OfflineRlTask task = opened();
  EXPECT_EQ(error_of([&] { task.predict({.input = "-"}, [](std::string_view) {}); }),
            "standard input: HDF5 files cannot be read from it");
}

TEST_F(OfflineTaskTest, WhatHasNoRobotCannotBePlayed) {
  EXPECT_EQ(error_of([&] { opened().play({}, 1, 1); }), "mine: no robot that could be played");
}

TEST_F(OfflineTaskTest, ItsFileIsReadOnceAtTheStart) {
  OfflineRlTask task = opened();
  std::filesystem::remove(folder / "mine.hdf5");
  task.loss(*offline_batch(task, {0, 1}));
  EXPECT_NO_THROW(task.evaluate(Part::validation));
  EXPECT_NO_THROW(task.forward({.part = Part::train}));
}

TEST_F(OfflineTaskTest, ATrainedModelNeedsItsDataOnlyWhenTheyAreAskedFor) {
  OfflineRlTask task = opened();
  const double expected = task.evaluate(Part::validation).score;
  OfflineRlTask again = reopened();
  const auto from = task.model().parameters(), to = again.model().parameters();
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  EXPECT_EQ(again.evaluate(Part::validation).score, expected) << "the same are held out";
  OfflineRlTask away = reopened();
  std::filesystem::remove(folder / "mine.hdf5");
  EXPECT_TRUE(contains(error_of([&] { away.evaluate(Part::validation); }), "mine.hdf5"));
}

TEST_F(OfflineTaskTest, ChangedEpisodesAreNotTakenForThoseOfTheRun) {
  OfflineRlTask task = reopened();
  all.rewards[5] += 1;
  written("mine.hdf5", all);
  EXPECT_EQ(error_of([&] { task.evaluate(Part::validation); }),
            (folder / "data.json").string() + ": the episodes of mine have changed since this run began");
}

TEST_F(OfflineTaskTest, TheFirstWeightsAreAMatterOfTheSeedAlone) {
  const auto weights = [&] { return opened().model().parameters()[0].clone(); };
  const Tensor first = weights();
  torch::rand({7});
  config.data.validation = 0.5;
  EXPECT_TRUE(at::equal(weights(), first));
  config.train.seed = 2;
  EXPECT_FALSE(at::equal(weights(), first));
}

// Called while a run trains: the course of the run must not feel it.
TEST_F(OfflineTaskTest, ALookAtTheModelDrawsNoRandomNumbers) {
  OfflineRlTask task = opened();
  task.model().eval();
  torch::manual_seed(3);
  const Tensor expected = torch::rand({2});
  torch::manual_seed(3);
  task.forward({.part = Part::train});
  task.forward({.part = Part::validation, .examples = 1000, .tokens = 30});
  task.forward({.file = folder / "mine.hdf5"});
  EXPECT_TRUE(at::equal(torch::rand({2}), expected));
}

TEST_F(OfflineTaskTest, OddDataAreNoted) {
  EXPECT_TRUE(opened().notes().empty());
  all.actions[3] = -2.5F;
  config.data.train = written("large.hdf5", all).string();
  EXPECT_EQ(opened().notes(),
            std::vector<std::string>{"actions reach 2.5, but those of an agent stay within 1; scale them first"});
}

TEST_F(OfflineTaskTest, AChoiceOfExamplesIsDescribed) {
  OfflineRlTask task = opened();
  EXPECT_EQ(task.describe({.part = Part::train}), "mine TRAIN, windows of 4 steps");
  EXPECT_EQ(task.describe({.part = Part::validation}), "mine validation part, windows of 4 steps");
  EXPECT_EQ(task.describe({.file = "other.hdf5"}), "other.hdf5");
}

TEST_F(OfflineTaskTest, OneEpisodeCannotBeHeldOutOfItself) {
  config.data.train = written("one.hdf5", random_episodes({30}, 5, 2)).string();
  EXPECT_EQ(error_of([&] { opened(); }),
            "one: 1 episodes, expected at least 2: one is held out where no robot can be played");
}

TEST_F(OfflineTaskTest, FilesThatCannotBeReadAreNamed) {
  config.data.train = write("cut.hdf5", tests::read(folder / "mine.hdf5").substr(0, 3000)).string();
  EXPECT_TRUE(contains(error_of([&] { opened(); }), "cut.hdf5: "));
  config.data.train = (folder / "none.hdf5").string();
  EXPECT_TRUE(contains(error_of([&] { opened(); }), "none.hdf5"));
}

/// The same episodes as those of a robot, which plays.
class HopperTaskTest : public OfflineTaskTest {
 protected:
  void SetUp() override {
    OfflineTaskTest::SetUp();
    if (IsSkipped()) return;
    if (!environments::has_simulator()) GTEST_SKIP() << "built without MuJoCo";
    all = random_episodes(kLengths);
    config.data.train = written("hopper.hdf5", all).string();
    config.data.robot = "auto";
    config.eval.targets = {100, 50};
  }
};

TEST_F(HopperTaskTest, AllEpisodesAreLearntFromAndPlayingJudges) {
  OfflineRlTask task = opened();
  EXPECT_EQ(task.examples(), 63);
  EXPECT_EQ(task.metric().key, "normalised_score");
  EXPECT_FALSE(task.metric().lower_is_better);
  EXPECT_TRUE(task.has(Part::test));
  EXPECT_FALSE(task.loss(*offline_batch(task, {0, 1})).score) << "a return is no mean over steps";
  EXPECT_TRUE(contains(task.description(), "hopper: 6 episodes, 63 steps, returns "));
  EXPECT_TRUE(contains(task.description(), "; asked for 100 and 50"));
}

TEST_F(HopperTaskTest, WhileTrainingFewEpisodesArePlayedAndInTheEndOthers) {
  OfflineRlTask task = opened();
  task.model().eval();
  const Evaluation quick = task.evaluate(Part::validation), whole = task.evaluate(Part::test);
  EXPECT_FALSE(quick.loss);
  EXPECT_TRUE(run::rollout_details(quick).robot.empty()) << "details only in the end";
  const run::RolloutDetails details = run::rollout_details(whole);
  ASSERT_EQ(details.targets.size(), 2U);
  EXPECT_EQ(details.targets[0].returns.size(), 3U);
  EXPECT_EQ(details.animations.size(), 3U);
  EXPECT_EQ(quick.score, task.evaluate(Part::validation).score) << "the same starts each time";
  EXPECT_NE(quick.also.at("return_at_100"), whole.also.at("return_at_100"));
  config.train.seed = 2;
  EXPECT_TRUE(
      contains(task.describe({.part = Part::test}), "hopper: 3 episodes of each target, returns normalised by D4RL"));
  EXPECT_TRUE(contains(task.describe({.part = Part::validation}), "hopper: 2 episodes of each target"));
}

TEST_F(HopperTaskTest, TheScoreIsOfTheFirstTargetOrTheBest) {
  config.eval.targets = {-500, 500, 0};
  for (const ScoredTarget scored : {ScoredTarget::first, ScoredTarget::best}) {
    config.eval.score = scored;
    OfflineRlTask task = opened();
    task.model().eval();
    const Evaluation evaluation = task.evaluate(Part::validation);
    double best = evaluation.also.at("score_at_-500");
    for (const char* key : {"score_at_500", "score_at_0"}) best = std::max(best, evaluation.also.at(key));
    EXPECT_EQ(evaluation.score, scored == ScoredTarget::best ? best : evaluation.also.at("score_at_-500"));
  }
}

TEST_F(HopperTaskTest, TargetsAreThoseOfTheDataUnlessTheConfigurationNamesSome) {
  config.eval.targets = {};
  OfflineRlTask task = opened();
  task.model().eval();
  EXPECT_EQ(run::rollout_details(task.evaluate(Part::test)).targets[1].target,
            std::round(1e3 * task.offline_facts().targets[1]) / 1e3);
  EXPECT_EQ(task.play({7}, 2, 1).size(), 2U);
  EXPECT_EQ(task.play({}, 2, 1).size(), 4U);
}

TEST_F(HopperTaskTest, AnAgentOfARobotIsNotJudgedByAFile) {
  EXPECT_TRUE(contains(error_of([&] { opened().evaluate_file("any.hdf5"); }),
                       "any.hdf5: an agent of a robot is judged by playing, not by a file"));
}

TEST_F(HopperTaskTest, EpisodesOfAnotherSizeAreNotAHoppers) {
  config.data.train = written("hopper-five.hdf5", random_episodes({3, 4}, 5, 2)).string();
  EXPECT_TRUE(contains(error_of([&] { opened(); }), "hopper-five.hdf5: states of 5 numbers, expected 11 for Hopper"));
}

TEST(OfflineRlConfigTest, HasANameForEachAgent) {
  EXPECT_EQ(small_agent().model_name(), "Primal.+DT");
  EXPECT_EQ(small_agent({"softmax", "softmax"}).model_name(), "DT");
  EXPECT_EQ(small_agent({"primal"}).model_name(), "PrimalFormer-DT");
  EXPECT_EQ(small_agent({"linear"}).model_name(), "linear-DT");
  OfflineRlConfig cloning = small_cloning();
  EXPECT_EQ(cloning.model_name(), "BC");
  cloning.data.best_share = 0.1;
  EXPECT_EQ(cloning.model_name(), "BC of the best");
}

TEST(OfflineRlConfigTest, ConfigurationsThatCannotWorkAreRefused) {
  const auto complaint = [](const std::function<void(OfflineRlConfig&)>& change) {
    OfflineRlConfig config = small_agent();
    change(config);
    return error_of([&] { config.check(); });
  };
  small_agent().check();
  small_cloning().check();
  EXPECT_EQ(complaint([](auto& c) { c.run.refit = true; }), "run.refit: this family of tasks has no refit");
  EXPECT_EQ(complaint([](auto& c) { c.data.robot = "none"; }),
            "data.robot: none given without data.train; a set says which robot it is of");
  EXPECT_TRUE(contains(complaint([](auto& c) { c.data.robot = "ant"; }), "data.robot: there is no robot \"ant\""));
  EXPECT_EQ(complaint([](auto& c) {
              c.model.agent = Agent::behaviour_cloning;
              c.eval.context = Context::episode;
            }),
            "eval.context: behaviour_cloning knows no context but window");
  EXPECT_TRUE(contains(complaint([](auto& c) { c.model.steps = 0; }), "model.steps: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.model.steps = 1001; }), "model.steps: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.data.best_share = 0; }), "data.best_share: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.data.best_share = 1.5; }), "data.best_share: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.data.return_scale = 0; }), "data.return_scale: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.data.validation = 1; }), "data.validation: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.eval.episodes = 0; }), "eval.episodes: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.eval.quick_episodes = 0; }), "eval.quick_episodes: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.model.attention_dropout = 1; }), "model.attention_dropout: expected"));
  EXPECT_TRUE(contains(complaint([](auto& c) { c.model.heads = 3; }), "model.width: 8 is not divisible by 3 heads"));
}

TEST(OfflineRlConfigTest, PublishedRunsReportTheirLastWeights) {
  OfflineRlConfig config = small_agent();
  config.run.protocol = Protocol::paper;
  config.train.keep = train::Keep::last;
  EXPECT_NO_THROW(config.check());
  EXPECT_EQ(config.selection(), Part::validation);
  EXPECT_EQ(config.published_keep(), train::Keep::last);
}

TEST(OfflineRlConfigTest, LayersAreCausalAndCountThreeTokensAStep) {
  OfflineRlConfig config = small_agent();
  config.model.memory = LayerMemory::decay;
  config.model.rows = 7;
  const models::DecisionOptions options = decision_options(config, 11, 3);
  for (const nn::EncoderLayerOptions& layer : options.layers) {
    EXPECT_TRUE(layer.attention.causal);
    EXPECT_EQ(layer.activation, Activation::relu);
    EXPECT_EQ(layer.attention.tokens, 12);
    EXPECT_EQ(layer.attention.primal.rows, 0);
    EXPECT_EQ(layer.attention.primal.memory, Memory::decay);
    EXPECT_EQ(layer.memory, LayerMemory::none);
  }
}

}  // namespace
}  // namespace primal::tasks
