// Files that a task is given: its own, those of a trained run, and those that do not fit.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/errors.h"
#include "tasks/offline_rl/offline_task.h"

namespace primal::tasks {
namespace {

using tests::contains;
using tests::decision_of;
using tests::error_of;
using tests::kOfflineLengths;
using tests::offline_batch;
using tests::random_episodes;
using torch::Tensor;
using OfflineTaskFilesTest = tests::OfflineTaskTest;

TEST_F(OfflineTaskFilesTest, AFileIsEvaluatedLikeWhatWasHeldOut) {
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

TEST_F(OfflineTaskFilesTest, FilesOfOtherSizesAreRefused) {
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

TEST_F(OfflineTaskFilesTest, APredictionIsALineForEachStepFromWhatWasSeenUpToIt) {
  OfflineRlTask task = reopened();
  task.model().eval();
  const auto path = folder / "mine.hdf5";
  std::string header;
  const std::vector<std::string> lines = predicted_lines(task, {.input = path}, &header);
  EXPECT_EQ(header, "episode,step,action_1,action_2\n");
  const Episodes every = episodes_of(task, {0, 1, 2, 3, 4, 5});
  ASSERT_EQ(std::ssize(lines), every.rows());
  int64_t row = 0;
  for (size_t episode = 0; episode < kOfflineLengths.size(); ++episode) {
    for (int64_t step = 0; step < kOfflineLengths[episode]; ++step, ++row) {
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
TEST_F(OfflineTaskFilesTest, APredictionDoesNotLookAtTheActionItIsFor) {
  OfflineRlTask task = reopened();
  task.model().eval();
  const std::vector<std::string> before = predicted_lines(task, {.input = folder / "mine.hdf5"});
  data::Trajectories other = all;
  for (const data::Episode& episode : all.episodes) other.actions[static_cast<size_t>(2 * episode.end - 1)] = 0.123F;
  EXPECT_EQ(predicted_lines(task, {.input = written("other.hdf5", other)}), before) << "last actions of episodes";
}

TEST_F(OfflineTaskFilesTest, HDF5DoesNotComeThroughAPipe) {
  OfflineRlTask task = opened();
  EXPECT_EQ(error_of([&] { task.predict({.input = "-"}, [](std::string_view) {}); }),
            "standard input: HDF5 files cannot be read from it");
}

TEST_F(OfflineTaskFilesTest, WhatHasNoRobotCannotBePlayed) {
  EXPECT_EQ(error_of([&] { opened().play({}, 1, 1); }), "mine: no robot that could be played");
}

TEST_F(OfflineTaskFilesTest, ItsFileIsReadOnceAtTheStart) {
  OfflineRlTask task = opened();
  std::filesystem::remove(folder / "mine.hdf5");
  task.loss(*offline_batch(task, {0, 1}));
  EXPECT_NO_THROW(task.evaluate(Part::validation));
  EXPECT_NO_THROW(task.forward({.part = Part::train}));
}

TEST_F(OfflineTaskFilesTest, ATrainedModelNeedsItsDataOnlyWhenTheyAreAskedFor) {
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

TEST_F(OfflineTaskFilesTest, ChangedEpisodesAreNotTakenForThoseOfTheRun) {
  OfflineRlTask task = reopened();
  all.rewards[5] += 1;
  written("mine.hdf5", all);
  EXPECT_EQ(error_of([&] { task.evaluate(Part::validation); }),
            (folder / "data.json").string() + ": the episodes of mine have changed since this run began");
}

TEST_F(OfflineTaskFilesTest, OddDataAreNoted) {
  EXPECT_TRUE(opened().notes().empty());
  all.actions[3] = -2.5F;
  config.data.train = written("large.hdf5", all).string();
  EXPECT_EQ(opened().notes(),
            std::vector<std::string>{"actions reach 2.5, but those of an agent stay within 1; scale them first"});
}

TEST_F(OfflineTaskFilesTest, AChoiceOfExamplesIsDescribed) {
  OfflineRlTask task = opened();
  EXPECT_EQ(task.describe({.part = Part::train}), "mine TRAIN, windows of 4 steps");
  EXPECT_EQ(task.describe({.part = Part::validation}), "mine validation part, windows of 4 steps");
  EXPECT_EQ(task.describe({.file = "other.hdf5"}), "other.hdf5");
}

TEST_F(OfflineTaskFilesTest, OneEpisodeCannotBeHeldOutOfItself) {
  config.data.train = written("one.hdf5", random_episodes({30}, 5, 2)).string();
  EXPECT_EQ(error_of([&] { opened(); }),
            "one: 1 episodes, expected at least 2: one is held out where no robot can be played");
}

TEST_F(OfflineTaskFilesTest, FilesThatCannotBeReadAreNamed) {
  config.data.train = write("cut.hdf5", tests::read(folder / "mine.hdf5").substr(0, 3000)).string();
  EXPECT_TRUE(contains(error_of([&] { opened(); }), "cut.hdf5: "));
  config.data.train = (folder / "none.hdf5").string();
  EXPECT_TRUE(contains(error_of([&] { opened(); }), "none.hdf5"));
}

}  // namespace
}  // namespace primal::tasks
