#include "tasks/offline_rl/home_sets.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/json_file.h"
#include "data/trajectories/trajectories.h"
#include "support/errors.h"
#include "support/files.h"
#include "tasks/offline_rl/found_or_made.h"
#include "tasks/offline_rl/makers.h"

namespace {

using namespace primal::tasks;
using primal::tests::contains;
using primal::tests::error_of;

class HomeSetsTest : public primal::tests::FolderTest {
 protected:
  const DataMaker& maker(const std::string& name) const {
    for (const DataMaker& candidate : offline_rl_makers()) {
      if (candidate.name == name) return candidate;
    }
    throw primal::Error("no maker " + name);
  }
  static std::string hopper_policies() {
    return std::filesystem::path(PRIMAL_GOLDEN_DIR) / "../../configs/offline-rl/policies/hopper.json";
  }
  MakeRequest request(std::map<std::string, std::string> options) const {
    return {.folder = folder / "made", .options = std::move(options)};
  }
};

TEST_F(HomeSetsTest, EveryRobotHasEveryKind) {
  std::set<std::string> names;
  for (const DataMaker& candidate : offline_rl_makers()) names.insert(std::string(candidate.name));
  EXPECT_EQ(names.size(), 15U);
  EXPECT_TRUE(names.contains("offline-rl/walker2d-medium-replay"));
  EXPECT_EQ(home_set("hopper-medium-replay")->file_name(), "hopper_medium_replay-home.hdf5");
  EXPECT_EQ(home_set("offline-rl/hopper-medium")->name(), "hopper-medium");
  EXPECT_FALSE(home_set("hopper"));
}

TEST_F(HomeSetsTest, AreFoundWhereverTheyLieInTheSearchPath) {
  const primal::data::SearchPath search{{folder / "nowhere", folder}};
  for (const char* place : {"", "hopper-medium", "offline-rl", "offline-rl/hopper-medium"}) {
    const auto file = write(std::filesystem::path(place) / "hopper_medium-home.hdf5", "x");
    EXPECT_EQ(find_home_file(*home_set("hopper-medium"), search), file);
    EXPECT_EQ(found_or_made("hopper-medium", search, nullptr), file);
  }
}

TEST_F(HomeSetsTest, AMissingOneIsNamedWithHowToMakeIt) {
  const std::string complaint = error_of([&] { found_or_made("hopper-medium", {{folder}}, nullptr); });
  EXPECT_TRUE(contains(complaint, "primal data make offline-rl/hopper-medium makes it"));
  EXPECT_TRUE(contains(error_of([&] { found_or_made("hopper-middle", {{folder}}, nullptr); }), "hopper-medium-replay"));
}

TEST_F(HomeSetsTest, BadFlagsAreNamed) {
  const auto complaint = [&](std::map<std::string, std::string> options) {
    return error_of([&] { maker("offline-rl/hopper-medium").make(request(std::move(options))); });
  };
  for (const char* steps : {"0", "-3", "many", "1e5", "10000001"}) {
    EXPECT_TRUE(contains(complaint({{"steps", steps}}), "--steps: expected a whole number from 1 to 10000000"));
  }
  if (!primal::data::has_hdf5() || !primal::environments::has_simulator()) return;
  EXPECT_TRUE(contains(complaint({{"policy", "none.json"}}), "none.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "made")) << "nothing is left behind";
}

TEST_F(HomeSetsTest, ASmallSetIsMadeWithThePoliciesOfTheProject) {
  if (!primal::data::has_hdf5() || !primal::environments::has_simulator()) GTEST_SKIP() << "built without them";
  ASSERT_TRUE(maker("offline-rl/hopper-expert").make(request({{"steps", "1500"}, {"policy", hopper_policies()}})));
  const auto set = primal::data::read_trajectories(folder / "made" / "hopper_expert-home.hdf5");
  EXPECT_GE(set.rows(), 1500);
  EXPECT_EQ(set.made.at("kind"), "expert");
  EXPECT_TRUE(set.made.contains("primal"));
  EXPECT_GT(set.episode_return(set.episodes.front()), 0.5 * set.made.at("expert_return").get<double>());
}

TEST_F(HomeSetsTest, TheFileIsTheSameForAnyNumberOfThreads) {
  if (!primal::data::has_hdf5() || !primal::environments::has_simulator()) GTEST_SKIP() << "built without them";
  const auto bytes = [&](int64_t threads) {
    MakeRequest order = request({{"steps", "2000"}, {"policy", hopper_policies()}});
    order.threads = threads;
    maker("offline-rl/hopper-medium-expert").make(order);
    return primal::base::read_text_if_any(order.folder / "hopper_medium_expert-home.hdf5");
  };
  EXPECT_EQ(bytes(1), bytes(2));
}

}  // namespace
