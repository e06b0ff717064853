// Files that h5py wrote the way of D4RL's and Minari's own programs (tests/fixtures/trajectories/make.py).
#include <gtest/gtest.h>

#include "data/trajectories/trajectories.h"

namespace {

using namespace primal::data;

Trajectories read_fixture(const std::string& name) {
  return read_trajectories(std::filesystem::path(PRIMAL_GOLDEN_DIR).parent_path() / "fixtures/trajectories" / name);
}

float value_of_row(int64_t row, int64_t column) { return static_cast<float>(row) + static_cast<float>(column) / 16; }

void expect_formulas(const Trajectories& read) {
  ASSERT_EQ(read.state_size, 5);
  ASSERT_EQ(read.action_size, 2);
  ASSERT_EQ(std::ssize(read.states), read.rows() * 5);
  ASSERT_EQ(std::ssize(read.actions), read.rows() * 2);
  for (int64_t i = 0; i < read.rows() * 5; ++i) EXPECT_EQ(read.states[i], value_of_row(i / 5, i % 5));
  for (int64_t i = 0; i < read.rows() * 2; ++i) EXPECT_EQ(read.actions[i], -value_of_row(i / 2, i % 2));
  for (int64_t i = 0; i < read.rows(); ++i) EXPECT_EQ(read.rewards[i], value_of_row(i, 0));
}

TEST(TrajectoriesOfH5py, D4rlIsRead) {
  const Trajectories read = read_fixture("d4rl.hdf5");
  EXPECT_EQ(read.rows(), 15);
  expect_formulas(read);
  ASSERT_EQ(read.episodes.size(), 3u);
  EXPECT_EQ(read.episodes[0].size(), 4);
  EXPECT_EQ(read.episodes[1].size(), 1);
  EXPECT_EQ(read.episodes[2].size(), 10);
  EXPECT_TRUE(read.episodes[0].terminated);
  EXPECT_TRUE(read.episodes[1].terminated);
  EXPECT_FALSE(read.episodes[2].terminated);
  EXPECT_EQ(read.unfinished, 5);
  EXPECT_TRUE(read.made.is_null());
}

TEST(TrajectoriesOfH5py, OlderD4rlIsRead) {
  const Trajectories read = read_fixture("d4rl_replay.hdf5");
  EXPECT_EQ(read.rows(), 10);
  expect_formulas(read);
  ASSERT_EQ(read.episodes.size(), 1u);
  EXPECT_TRUE(read.episodes[0].terminated);
  EXPECT_EQ(read.unfinished, 10);
}

TEST(TrajectoriesOfH5py, MinariIsReadInTheOrderOfNumbers) {
  const Trajectories read = read_fixture("minari.hdf5");
  ASSERT_EQ(read.episodes.size(), 2u);
  EXPECT_EQ(read.episodes[0].size(), 3);
  EXPECT_EQ(read.episodes[1].size(), 11);
  EXPECT_FALSE(read.episodes[0].terminated);
  EXPECT_TRUE(read.episodes[1].terminated);
  ASSERT_EQ(read.state_size, 3);
  ASSERT_EQ(read.action_size, 2);
  for (const auto& [episode, number] : {std::pair{read.episodes[0], 2}, std::pair{read.episodes[1], 10}}) {
    for (int64_t row = episode.begin; row < episode.end; ++row) {
      for (int64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(read.states[row * 3 + i], static_cast<float>(100 * number) + value_of_row(row - episode.begin, i));
      }
      EXPECT_EQ(read.actions[row * 2], static_cast<float>(number) / 16);
      EXPECT_EQ(read.rewards[row], static_cast<float>(row - episode.begin));
    }
  }
}

}  // namespace
