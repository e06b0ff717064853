// What a run writes down of its episodes: whose they are, their scales and targets, and back from data.json.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "support/errors.h"
#include "support/files.h"
#include "tasks/offline_rl/offline_data.h"
#include "tasks/offline_rl/small_agents.h"

namespace primal::tasks {
namespace {

using environments::Robot;
using tests::contains;
using tests::error_of;
using tests::random_episodes;
using tests::small_agent;

/// Episodes of the size of a hopper's, and what is known of them.
class OfflineFactsTest : public tests::FolderTest {
 protected:
  OfflineFactsTest() { all.rewards = {1, 2, 3, 10, 20}; }  // returns 6 and 30

  OfflineFacts of_set(const std::string& set) {
    config.data.set = set;
    return facts_of(all, config, set + ".hdf5");
  }
  OfflineFacts of_file(const std::filesystem::path& file) {
    config.data.train = file.string();
    return facts_of(all, config, file);
  }
  OfflineFacts reread(const OfflineFacts& facts) const {
    return read_offline_facts(write("data.json", to_json(facts).dump()));
  }

  data::Trajectories all = random_episodes({3, 2});
  OfflineRlConfig config = small_agent();
};

TEST_F(OfflineFactsTest, ASetHasItsRobotAndItsReturns) {
  const OfflineFacts facts = of_set("hopper-medium");
  EXPECT_EQ(facts.name, "hopper-medium");
  EXPECT_EQ(facts.robot, Robot::hopper);
  EXPECT_EQ(facts.states, 11);
  EXPECT_EQ(facts.actions, 3);
  EXPECT_EQ(facts.data_returns, (std::vector<double>{6, 30}));
}

TEST_F(OfflineFactsTest, TheBestReturnAndHalfOfItAreAskedFor) {
  EXPECT_EQ(of_set("hopper-medium").targets, (std::vector<double>{30, 15}));
  EXPECT_EQ(of_file("hopper-mine.hdf5").targets, (std::vector<double>{30, 15})) << "all the more of own files";
}

TEST_F(OfflineFactsTest, OfTheSetsOfD4rlWhatIsPublishedIsAskedFor) {
  EXPECT_EQ(of_set("hopper-medium-replay-v2").targets, (std::vector<double>{3600, 1800}));
}

TEST_F(OfflineFactsTest, ASetThatSaysWhatItsPoliciesEarnHasItsOwnScores) {
  all.made = {{"random_return", 20}, {"expert_return", 220}};
  const Normalisation own = of_set("hopper-medium").normalisation;
  EXPECT_EQ(own.name, "this set");
  EXPECT_DOUBLE_EQ(own.score(20), 0);
  EXPECT_DOUBLE_EQ(own.score(120), 50);
  EXPECT_DOUBLE_EQ(own.score(-180), -100);
}

TEST_F(OfflineFactsTest, OthersHaveTheScoresOfD4rl) {
  using nlohmann::json;
  for (const json& made :
       {json(), json("text"), json{{"expert_return", 5}}, json{{"random_return", 5}, {"expert_return", 5}},
        json{{"random_return", "0"}, {"expert_return", 5}}}) {
    all.made = made;
    const Normalisation published = of_set("hopper-medium").normalisation;
    EXPECT_EQ(published.name, "D4RL") << made;
    EXPECT_DOUBLE_EQ(published.score(-20.272305), 0);
    EXPECT_DOUBLE_EQ(published.score(3234.3), 100);
  }
}

TEST_F(OfflineFactsTest, OwnFilesSayWhoseTheyAre) {
  EXPECT_EQ(of_file("hopper_mine.hdf5").robot, Robot::hopper) << "by the name, as D4RL's do";
  EXPECT_EQ(of_file("hopper_mine.hdf5").name, "hopper_mine");
  all.made = {{"robot", "hopper"}};
  EXPECT_EQ(of_file("walker2d_mine.hdf5").robot, Robot::hopper) << "by what is in it, above all";
  config.data.robot = "none";
  EXPECT_FALSE(of_file("hopper_mine.hdf5").robot);
  all.made = {};
  config.data.robot = "hopper";
  EXPECT_EQ(of_file("mine.hdf5").robot, Robot::hopper);
}

TEST_F(OfflineFactsTest, AFileThatDoesNotSayWhoseItIsIsRefused) {
  EXPECT_EQ(error_of([&] { of_file("/a/mine.hdf5"); }),
            "/a/mine.hdf5: does not say which robot it is of; set data.robot to one, or to none");
}

TEST_F(OfflineFactsTest, SizesOfAnotherRobotAreRefused) {
  config.data.robot = "walker2d";
  EXPECT_EQ(error_of([&] { of_file("mine.hdf5"); }), "mine.hdf5: states of 11 numbers, expected 17 for Walker2d");
  all = random_episodes({2}, 11, 4);
  config.data.robot = "hopper";
  EXPECT_EQ(error_of([&] { of_file("mine.hdf5"); }), "mine.hdf5: actions of 4 numbers, expected 3 for Hopper");
}

TEST_F(OfflineFactsTest, WithoutARobotNothingIsNormalisedOrAskedFor) {
  config.data.robot = "none";
  all = random_episodes({2, 2}, 5, 1);
  const OfflineFacts facts = of_file("mine.hdf5");
  EXPECT_EQ(facts.states, 5);
  EXPECT_TRUE(facts.targets.empty());
  EXPECT_EQ(facts.data_returns.size(), 2U);
}

TEST_F(OfflineFactsTest, OfManyReturnsSomeAreKept) {
  all = random_episodes(std::vector<int64_t>(4100, 1));
  for (size_t i = 0; i < all.rewards.size(); ++i) all.rewards[i] = static_cast<float>(i);
  const OfflineFacts facts = of_set("hopper-medium");
  ASSERT_EQ(facts.data_returns.size(), 2000U);
  EXPECT_EQ(facts.data_returns[1000], 2050) << "from everywhere";
  EXPECT_EQ(facts.targets.front(), 4099) << "the best of all, kept or not";
}

TEST_F(OfflineFactsTest, AnyOtherValueIsOtherData) {
  const std::string before = of_set("hopper-medium").fingerprint;
  EXPECT_EQ(of_set("hopper-medium").fingerprint, before);
  const auto changed = [&](const std::function<void(data::Trajectories&)>& change) {
    data::Trajectories other = all;
    change(other);
    return facts_of(other, config, "hopper.hdf5").fingerprint != before;
  };
  for (size_t i : {0, 30, 54}) EXPECT_TRUE(changed([&](auto& other) { other.states[i] += 1e-3F; })) << i;
  for (size_t i : {0, 7, 14}) EXPECT_TRUE(changed([&](auto& other) { other.actions[i] += 1e-3F; })) << i;
  for (size_t i : {0, 2, 4}) EXPECT_TRUE(changed([&](auto& other) { other.rewards[i] += 1e-3F; })) << i;
  EXPECT_TRUE(changed([](auto& other) { other.episodes[0].end = other.episodes[1].begin = 2; }));
  EXPECT_TRUE(changed([](auto& other) { std::swap(other.states, other.actions); }));
}

TEST_F(OfflineFactsTest, ComeBackFromTheirFile) {
  all.made = {{"random_return", 20}, {"expert_return", 220}};
  const OfflineFacts facts = of_set("hopper-medium"), back = reread(facts);
  EXPECT_EQ(back.name, facts.name);
  EXPECT_EQ(back.robot, facts.robot);
  EXPECT_EQ(back.states, facts.states);
  EXPECT_EQ(back.actions, facts.actions);
  EXPECT_EQ(back.mean, facts.mean) << "to the last bit";
  EXPECT_EQ(back.deviation, facts.deviation);
  EXPECT_EQ(back.targets, facts.targets);
  EXPECT_EQ(back.data_returns, facts.data_returns);
  EXPECT_EQ(back.fingerprint, facts.fingerprint);
  EXPECT_EQ(back.normalisation.name, "this set");
  EXPECT_EQ(back.normalisation.random_return, 20);
  EXPECT_EQ(back.normalisation.expert_return, 220);
  EXPECT_EQ(to_json(back), to_json(facts));
}

TEST_F(OfflineFactsTest, ComeBackFromTheirFileWithoutARobotToo) {
  config.data.robot = "none";
  const OfflineFacts facts = of_file("mine.hdf5"), back = reread(facts);
  EXPECT_FALSE(back.robot);
  EXPECT_FALSE(to_json(facts).contains("normalisation"));
  EXPECT_EQ(to_json(back), to_json(facts));
}

TEST_F(OfflineFactsTest, DamagedFilesAreNamedWithWhatIsWrong) {
  const nlohmann::json right = to_json(of_set("hopper-medium"));
  const auto complaint = [&](const std::function<void(nlohmann::json&)>& damage) {
    nlohmann::json json = right;
    damage(json);
    const std::string path = write("data.json", json.dump()).string();
    const std::string message = error_of([&] { read_offline_facts(path); });
    EXPECT_TRUE(message.starts_with(path + ": ")) << message;
    return message;
  };
  for (const char* key : {"name", "states", "actions", "fingerprint", "normalisation"}) {
    EXPECT_TRUE(contains(complaint([&](auto& json) { json.erase(key); }), key));
    EXPECT_TRUE(contains(complaint([&](auto& json) { json[key] = nlohmann::json::array(); }), key));
  }
  EXPECT_TRUE(contains(complaint([](auto& json) { json.erase("mean"); }), "\"mean\": expected 11 numbers, got 0"));
  EXPECT_TRUE(contains(complaint([](auto& json) { json["deviation"].push_back(1); }),
                       "\"deviation\": expected 11 numbers, got 12"));
  EXPECT_TRUE(contains(complaint([](auto& json) { json["targets"] = "many"; }), "targets"));
  EXPECT_TRUE(contains(complaint([](auto& json) { json["robot"] = "ant"; }), "there is no robot \"ant\""));
  EXPECT_TRUE(contains(complaint([](auto& json) { json["robot"] = 3; }), "robot"));
  EXPECT_TRUE(contains(complaint([](auto& json) { json["normalisation"].erase("expert_return"); }), "expert_return"));
  EXPECT_TRUE(contains(complaint([](auto& json) { json = nlohmann::json::array(); }), ""));
  EXPECT_TRUE(contains(complaint([](auto& json) { json = "text"; }), ""));
}

TEST_F(OfflineFactsTest, FilesThatAreNoJsonOrNotThereAreNamed) {
  const std::string path = write("data.json", "{\"name\": \"hop").string();
  EXPECT_TRUE(contains(error_of([&] { read_offline_facts(path); }), path));
  EXPECT_TRUE(contains(error_of([&] { read_offline_facts(folder / "none.json"); }), "none.json"));
}

// Its numbers are its maker's, not ours.
TEST_F(OfflineFactsTest, AFileWhoseMakerNamesNoRobotInWordsIsOfNone) {
  for (const nlohmann::json& robot : {nlohmann::json(5), nlohmann::json(), nlohmann::json::array()}) {
    all.made = {{"robot", robot}};
    EXPECT_EQ(of_file("hopper_mine.hdf5").robot, Robot::hopper) << "then the name says it: " << robot;
    EXPECT_TRUE(contains(error_of([&] { of_file("mine.hdf5"); }), "does not say which robot it is of"));
  }
}

}  // namespace
}  // namespace primal::tasks
