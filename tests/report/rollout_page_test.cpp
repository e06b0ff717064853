// Agents in reports and on the page of `primal play`.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "report/play_page.h"
#include "report/report_page.h"
#include "report/rollout_json.h"
#include "run/run.h"
#include "support/errors.h"
#include "support/fake_run.h"
#include "support/files.h"
#include "support/page_data.h"

namespace {

using primal::report::play_page;
using primal::run::RolloutDetails;
using primal::tests::data_of;
using primal::tests::error_of;

using RolloutReport = primal::tests::FolderTest;

RolloutDetails hopper() {
  return {.robot = "Hopper",
          .normalisation = "this set",
          .random_return = 100,
          .expert_return = 2100,
          .checkpoint = "last",
          .data_returns = {900, 1200},
          .targets = {{.target = 2000, .returns = {1700, 1900}, .steps = {900, 1000}},
                      {.target = 1000, .returns = {1100}, .steps = {400}}},
          .animations = {{.title = "best",
                          .target = 2000,
                          .earned = 1900,
                          .steps = 1000,
                          .frame_seconds = 0.032,
                          .radii = {0.05},
                          .frames = {{0, 1, 0.12345, 1.5}},
                          .frame_steps = 4}}};
}

TEST(RolloutJson, ReadsReturnsAsScoresToo) {
  const nlohmann::json rollouts = primal::report::rollouts_json(hopper());
  EXPECT_EQ(rollouts["targets"][0]["target"], 1000) << "what was asked for rises";
  const auto& high = rollouts["targets"][1];
  EXPECT_EQ(high["mean"], 1800);
  EXPECT_NEAR(high["deviation"], 141.421, 1e-3);
  EXPECT_EQ(high["score"], 85);
  EXPECT_NEAR(high["scoreDeviation"], 7.07107, 1e-5);
  EXPECT_EQ(high["steps"], 950);
  EXPECT_TRUE(rollouts["targets"][0]["deviation"].is_null()) << "of one episode";
  EXPECT_EQ(rollouts["animations"][0]["score"], 90);
}

TEST(RolloutJson, HasMillimetres) {
  EXPECT_EQ(primal::report::rollouts_json(hopper())["animations"][0]["frames"].dump(), "[[0.0,1.0,0.123,1.5]]");
}

TEST(RolloutJson, HasNoScoresWithoutAScale) {
  RolloutDetails details = hopper();
  details.expert_return = details.random_return;
  EXPECT_TRUE(primal::report::rollouts_json(details)["targets"][0]["score"].is_null());
}

TEST(RolloutJson, WhoWasAskedForNothingComesLast) {
  RolloutDetails details = hopper();
  details.targets[0].target = std::numeric_limits<double>::quiet_NaN();
  const nlohmann::json targets = primal::report::rollouts_json(details)["targets"];
  EXPECT_EQ(targets[0]["target"], 1000);
  EXPECT_TRUE(targets[1]["target"].is_null());
}

TEST_F(RolloutReport, HoldsWhatTheResultHas) {
  primal::run::Evaluation evaluation;
  put(evaluation, hopper());
  primal::tests::FakeRun fake;
  fake.result["test"]["rollouts"] = evaluation.details["rollouts"];
  const nlohmann::json test =
      data_of(primal::report::report_page({primal::run::load_run(fake.write(folder))}))["runs"][0]["result"]["test"];
  EXPECT_EQ(test["rollouts"], primal::report::rollouts_json(hopper()));
  EXPECT_TRUE(test["also"].empty()) << "they are no tiles";
}

TEST_F(RolloutReport, ARunOfAnotherKindHasNone) {
  const nlohmann::json data =
      data_of(primal::report::report_page({primal::run::load_run(primal::tests::FakeRun().write(folder))}));
  EXPECT_TRUE(data["runs"][0]["result"]["test"]["rollouts"].is_null());
}

TEST_F(RolloutReport, ADamagedResultIsNamed) {
  primal::tests::FakeRun fake;
  fake.result["test"]["rollouts"] = {{"robot", 3}};
  EXPECT_EQ(error_of([&] { primal::run::load_run(fake.write(folder)); }),
            (folder / "result.json").string() + ": test: rollouts: field \"robot\": expected a string, got 3");
}

TEST(PlayPage, HoldsTheEpisodes) {
  const std::string page = play_page(hopper(), "offline-rl/hopper-medium");
  const nlohmann::json data = data_of(page);
  EXPECT_EQ(data["kind"], "play");
  EXPECT_EQ(data["title"], "offline-rl/hopper-medium");
  EXPECT_EQ(data["rollouts"], primal::report::rollouts_json(hopper()));
  EXPECT_TRUE(primal::tests::contains(page, "Hopper\nbest: return 1900.0, score 90.0, asked for 2000.0, 1000 steps"))
      << "for readers without scripts";
}

TEST(PlayPage, HostileNamesStayText) {
  RolloutDetails details = hopper();
  const std::string hostile = primal::tests::kHostileNames[0];
  details.robot = details.animations[0].title = hostile;
  const std::string page = play_page(details, hostile);
  EXPECT_EQ(page.find("<script>alert"), page.npos);
  EXPECT_EQ(primal::tests::count(page, "<script"), primal::tests::count(page, "</script>"));
}

TEST(PlayPage, NeedsSomethingToShow) {
  RolloutDetails details = hopper();
  details.animations.clear();
  EXPECT_EQ(error_of([&] { play_page(details, "t"); }), "play: expected at least one episode to show, got none");
  details.robot.clear();
  EXPECT_EQ(error_of([&] { play_page(details, "t"); }), "play: expected the name of the robot, got none");
}

}  // namespace
