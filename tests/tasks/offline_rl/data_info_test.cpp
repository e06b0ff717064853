// What is said of files of episodes.
#include "tasks/offline_rl/data_info.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/errors.h"
#include "support/files.h"
#include "tasks/offline_rl/small_agents.h"

namespace primal::tasks {
namespace {

using tests::contains;
using tests::error_of;

class OfflineDataInfoTest : public tests::FolderTest {
 protected:
  OfflineDataInfoTest() { all.rewards = {1, 2, 3, 10, 20}; }  // returns 6, 10 and 20
  void SetUp() override {
    if (!data::has_hdf5()) GTEST_SKIP() << "built without HDF5";
  }

  std::optional<DataInfo> info_of_file(const std::string& name = "mine.hdf5") {
    data::write_d4rl(folder / name, all, {});
    return offline_rl_info((folder / name).string(), {{folder}});
  }

  data::Trajectories all = tests::random_episodes({3, 1, 1});
};

TEST_F(OfflineDataInfoTest, OfAFileHasItsNumbers) {
  const nlohmann::json json = info_of_file()->json;
  EXPECT_EQ(json["steps"], 5);
  EXPECT_EQ(json["episodes"], 3);
  EXPECT_EQ(json["terminated"], 1);
  EXPECT_EQ(json["unfinished"], 0);
  EXPECT_EQ(json["states"], 11);
  EXPECT_EQ(json["actions"], 3);
  EXPECT_EQ(json["returns"]["mean"], 12);
  EXPECT_EQ(json["returns"]["least"], 6);
  EXPECT_EQ(json["returns"]["median"], 10);
  EXPECT_EQ(json["returns"]["most"], 20);
  EXPECT_NEAR(json["returns"]["deviation"].get<double>(), 7.2111, 1e-4);
  EXPECT_EQ(json["lengths"]["most"], 3);
  EXPECT_TRUE(json["made"].is_null());
}

TEST_F(OfflineDataInfoTest, OfAFileSaysTheSameInWords) {
  const std::string text = info_of_file()->text;
  EXPECT_TRUE(text.starts_with((folder / "mine.hdf5").string() + "\n"));
  EXPECT_TRUE(contains(text, "  steps       5, states of 11 numbers, actions of 3\n"));
  EXPECT_TRUE(contains(text, "  episodes    3, 1 of them ended by a fall\n"));
  EXPECT_TRUE(contains(text, "  returns     mean 12.0 +- 7.2, 6.0 to 20.0, median 10.0\n"));
  EXPECT_FALSE(contains(text, "made"));
  EXPECT_FALSE(contains(text, "unfinished"));
}

TEST_F(OfflineDataInfoTest, OneEpisodeHasNoDeviation) {
  all = tests::random_episodes({4});
  EXPECT_FALSE(info_of_file()->json["returns"].contains("deviation"));
}

TEST_F(OfflineDataInfoTest, SaysHowASetWasMade) {
  all.made = {{"algorithm", "ARS"}, {"random_return", 1.5}, {"expert_return", 300}};
  EXPECT_TRUE(
      contains(info_of_file()->text, "  made        by primal, ARS; score 0 is a return of 1.5, 100 one of 300.0\n"));
}

// A file may come from anywhere.
TEST_F(OfflineDataInfoTest, IsSaidWhateverItsMakerWrote) {
  using nlohmann::json;
  for (const json& made : {json{{"expert_return", "much"}, {"algorithm", 5}}, json{{"expert_return", nullptr}},
                           json::array({1}), json("text")}) {
    all.made = made;
    EXPECT_EQ(info_of_file()->json["made"], made);
  }
}

TEST_F(OfflineDataInfoTest, OtherNamesAreNotOurs) {
  EXPECT_FALSE(offline_rl_info("JapaneseVowels", {{folder}}));
  EXPECT_FALSE(offline_rl_info("mine.csv", {{folder}}));
  EXPECT_FALSE(offline_rl_info("offline-rl/hopper", {{folder}}));
  EXPECT_FALSE(offline_rl_info("hopper-medium", {{folder}}));
}

TEST_F(OfflineDataInfoTest, SetsThatAreNotThereAreNotMade) {
  EXPECT_TRUE(contains(error_of([&] { offline_rl_info("offline-rl/hopper-medium", {{folder}}); }),
                       "primal data make offline-rl/hopper-medium makes it"));
  EXPECT_TRUE(contains(error_of([&] { offline_rl_info("offline-rl/hopper-medium-v2", {{folder}}); }),
                       "expected DIR/d4rl/hopper_medium-v2.hdf5"));
}

TEST_F(OfflineDataInfoTest, SetsOfBothKindsAreListedByTheirNames) {
  write("d4rl/hopper_medium-v2.hdf5", "x");
  write("offline-rl/walker2d-expert/walker2d_expert-home.hdf5", "x");
  std::vector<std::string> names;
  for (const DataSet& set : offline_rl_data_sets({{folder}})) names.push_back(set.name);
  EXPECT_EQ(names, (std::vector<std::string>{"offline-rl/walker2d-expert", "offline-rl/hopper-medium-v2"}));
}

TEST_F(OfflineDataInfoTest, SetsAreFoundByTheirNames) {
  std::filesystem::create_directory(folder / "d4rl");
  data::write_d4rl(folder / "d4rl" / "hopper_medium-v2.hdf5", all, {});
  EXPECT_EQ(offline_rl_info("offline-rl/hopper-medium-v2", {{folder}})->json["steps"], 5);
}

}  // namespace
}  // namespace primal::tasks
