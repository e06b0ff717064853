#include "data/trajectories/trajectories.h"

#include <gtest/gtest.h>

#include "base/write_failure.h"
#include "data/trajectories/trajectory_files.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

using namespace primal::data;
using primal::tests::contains;
using primal::tests::error_of;
using primal::tests::Hdf5Maker;
using primal::tests::some_trajectories;
using primal::tests::states_after;

void expect_same(const Trajectories& read, const Trajectories& written) {
  EXPECT_EQ(read.state_size, written.state_size);
  EXPECT_EQ(read.action_size, written.action_size);
  EXPECT_EQ(read.states, written.states);
  EXPECT_EQ(read.actions, written.actions);
  EXPECT_EQ(read.rewards, written.rewards);
  EXPECT_EQ(read.made, written.made);
  ASSERT_EQ(read.episodes.size(), written.episodes.size());
  for (size_t i = 0; i < read.episodes.size(); ++i) {
    EXPECT_EQ(read.episodes[i].begin, written.episodes[i].begin) << i;
    EXPECT_EQ(read.episodes[i].end, written.episodes[i].end) << i;
    EXPECT_EQ(read.episodes[i].terminated, written.episodes[i].terminated) << i;
  }
}

class TrajectoryFile : public primal::tests::FolderTest {
 protected:
  const std::filesystem::path path = folder / "a.hdf5";
};

TEST_F(TrajectoryFile, ReadsBackWhatWasWritten) {
  Trajectories written = some_trajectories({4, 1, 7});
  written.made = {{"algorithm", "ARS"}, {"robot", "h\xc3\xb6pper"}, {"scores", {{"random", -20.5}, {"expert", 1e9}}}};
  for (const bool is_minari : {false, true}) {
    (is_minari ? write_minari : write_d4rl)(path, written, states_after(written));
    const Trajectories read = read_trajectories(path);
    expect_same(read, written);
    EXPECT_EQ(read.unfinished, 0);
  }
}

TEST_F(TrajectoryFile, RandomEpisodesAreReadBackBitForBit) {
  primal::base::Random random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<int64_t> lengths;
    const uint64_t most = round % 10 == 0 ? 20'000 : 30;  // now and then more than one chunk
    for (uint64_t count = random.below(6) + 1; count > 0; --count) {
      lengths.push_back(1 + static_cast<int64_t>(random.below(most)));
    }
    const auto state_size = 1 + static_cast<int64_t>(random.below(9));
    const Trajectories written =
        some_trajectories(lengths, state_size, 1 + static_cast<int64_t>(random.below(4)), random.next());
    (round % 2 == 0 ? write_d4rl : write_minari)(path, written, states_after(written));
    expect_same(read_trajectories(path), written);
  }
}

TEST_F(TrajectoryFile, TheSameTrajectoriesGiveTheSameBytes) {
  const Trajectories written = some_trajectories({4, 3});
  for (const auto write : {write_d4rl, write_minari}) {
    write(path, written, states_after(written));
    const std::string first = primal::tests::read(path);
    write(path, written, states_after(written));
    EXPECT_EQ(primal::tests::read(path), first);
  }
}

TEST_F(TrajectoryFile, ReturnsAreSumsOfRewards) {
  Trajectories trajectories = some_trajectories({2, 3});
  trajectories.rewards = {1, 2, 10, 20, 30};
  EXPECT_EQ(trajectories.episode_return(trajectories.episodes[0]), 3);
  EXPECT_EQ(trajectories.episode_return(trajectories.episodes[1]), 60);
}

TEST_F(TrajectoryFile, WhatCouldNotBeReadBackIsNotWritten) {
  const Trajectories right = some_trajectories({2, 3});
  const auto error_with = [&](const auto& change) {
    Trajectories wrong = right;
    change(wrong);
    return error_of([&] { write_d4rl(path, wrong, {}); });
  };
  EXPECT_TRUE(contains(error_with([](Trajectories& t) { t = {}; }), "a.hdf5: expected a step at least, got none"));
  EXPECT_TRUE(contains(error_with([](Trajectories& t) { t.states.pop_back(); }),
                       "a.hdf5: states: expected 5 rows of 3, got 14 values"));
  EXPECT_TRUE(contains(error_with([](Trajectories& t) { t.actions[7] = std::nanf(""); }),
                       "a.hdf5: actions, row 3: expected a finite number, got nan"));
  EXPECT_TRUE(contains(error_with([](Trajectories& t) { t.episodes[1].begin = 3; }),
                       "a.hdf5: episode 1: expected rows from 2 on, got 3 to 5 of 5"));
  EXPECT_TRUE(contains(error_with([](Trajectories& t) { t.episodes.pop_back(); }),
                       "a.hdf5: expected episodes up to row 5, got them up to row 2"));
  EXPECT_TRUE(contains(error_of([&] { write_d4rl(path, right, {1.0f}); }),
                       "a.hdf5: next states: expected 5 rows of 3, got 1 values"));
  EXPECT_TRUE(contains(error_of([&] { write_minari(path, right, {}); }),
                       "a.hdf5: Minari's layout needs the state after each episode's last step"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TrajectoryFile, AMissingFolderIsSaidBeforeTheWork) {
  EXPECT_TRUE(contains(error_of([&] { write_d4rl(folder / "b" / "a.hdf5", some_trajectories({2}), {}); }),
                       "a.hdf5: cannot open its directory: No such file or directory"));
}

TEST_F(TrajectoryFile, AFullDiskIsNoMistakeOfTheCaller) {
  EXPECT_TRUE(
      contains(error_of<primal::base::WriteFailure>([] { write_d4rl("/dev/full", some_trajectories({2}), {}); }),
               "/dev/full: cannot write: No space left on device"));
}

TEST_F(TrajectoryFile, MinariTakesNoMoreMetadataThanHdf5) {
  Trajectories trajectories = some_trajectories({2});
  trajectories.made = std::string(70'000, 'x');
  EXPECT_TRUE(contains(error_of([&] { write_minari(path, trajectories, states_after(trajectories)); }),
                       "a.hdf5: made: has 70002 bytes, HDF5 takes at most 60000 here"));
  write_d4rl(path, trajectories, {});
  EXPECT_EQ(read_trajectories(path).made, trajectories.made);
}

class D4rlFile : public TrajectoryFile {
 protected:
  /// Rows with these flags; without `timeouts` there is no such data set.
  Trajectories read_with(const std::vector<double>& terminals, const std::vector<double>& timeouts,
                         hid_t type = H5T_STD_I8LE) {
    const auto rows = static_cast<hsize_t>(terminals.size());
    {
      Hdf5Maker file(path.string());
      file.numbers("observations", {rows, 1}, std::vector<double>(rows));
      file.numbers("actions", {rows, 1}, std::vector<double>(rows));
      file.numbers("rewards", {rows}, std::vector<double>(rows));
      file.numbers("terminals", {rows}, terminals, type);
      if (!timeouts.empty()) file.numbers("timeouts", {rows}, timeouts, type);
    }
    return read_trajectories(path);
  }
};

TEST_F(D4rlFile, EpisodesEndByEitherFlag) {
  for (const hid_t type : {H5T_STD_I8LE, H5T_STD_U8LE, H5T_STD_I64BE, H5T_IEEE_F32LE, H5T_IEEE_F64BE}) {
    const Trajectories read = read_with({0, 1, 0, 0, 1, 0}, {0, 0, 0, 1, 1, 0}, type);
    ASSERT_EQ(read.episodes.size(), 3u);
    EXPECT_EQ(read.episodes[0].end, 2);
    EXPECT_EQ(read.episodes[1].end, 4);
    EXPECT_TRUE(read.episodes[0].terminated);
    EXPECT_FALSE(read.episodes[1].terminated);
    EXPECT_TRUE(read.episodes[2].terminated) << "who falls in the last step has fallen";
    EXPECT_EQ(read.episodes[2].size(), 1);
    EXPECT_EQ(read.unfinished, 1);
    EXPECT_EQ(read.rows(), 5);
    EXPECT_EQ(read.states.size(), 5u);
  }
}

TEST_F(D4rlFile, WithoutTimeoutsAnEpisodeHasAThousandSteps) {
  std::vector<double> terminals(2100);
  terminals[49] = 1;
  const Trajectories read = read_with(terminals, {});
  ASSERT_EQ(read.episodes.size(), 3u);
  EXPECT_EQ(read.episodes[0].end, 50);
  EXPECT_EQ(read.episodes[1].end, 1050);
  EXPECT_EQ(read.episodes[2].end, 2050);
  EXPECT_FALSE(read.episodes[2].terminated);
  EXPECT_EQ(read.unfinished, 50);
}

}  // namespace
