#include "run/rollout_details.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "support/errors.h"

namespace primal::run {
namespace {

using tests::error_of;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const Metric kScore{.key = "normalised_score", .name = "normalised score"};

Evaluation rollouts_through_json(const Evaluation& before) {
  return evaluation_from(nlohmann::json::parse(to_json(before, kScore).dump()), kScore, "e");
}

/// Two capsules in two frames, one target, everything filled in.
RolloutDetails small_details() {
  return {.robot = "Hopper",
          .normalisation = "this set",
          .random_return = 18.5,
          .expert_return = 3000,
          .checkpoint = "last",
          .data_returns = {1200.25, 900},
          .targets = {{.target = 3000, .returns = {2500.5, -3}, .steps = {1000, 12}}},
          .animations = {{.title = "best",
                          .target = 3000,
                          .earned = 2500.5,
                          .steps = 1000,
                          .frame_seconds = 0.032,
                          .radii = {0.05, 0.04},
                          .frames = {{0, 1, 0, 1.5, 0, 0.5, 0, 1}, {0.25, 1, 0.25, 1.5, 0.25, 0.5, 0.25, 1}},
                          .frame_steps = 4}}};
}

/// What is said when a change was made to the JSON of small_details().
std::string error_after(const std::function<void(nlohmann::json&)>& change) {
  Evaluation evaluation;
  put(evaluation, small_details());
  change(evaluation.details["rollouts"]);
  return error_of([&] { rollout_details(evaluation, "f"); });
}

TEST(RolloutDetails, GoThroughJsonUnchanged) {
  Evaluation evaluation{.score = 83.2};
  put(evaluation, small_details());
  const RolloutDetails after = rollout_details(rollouts_through_json(evaluation));
  EXPECT_EQ(after.robot, "Hopper");
  EXPECT_EQ(after.normalisation, "this set");
  EXPECT_EQ(after.random_return, 18.5);
  EXPECT_EQ(after.expert_return, 3000);
  EXPECT_EQ(after.checkpoint, "last");
  EXPECT_EQ(after.data_returns, (std::vector<double>{1200.25, 900}));
  ASSERT_EQ(after.targets.size(), 1u);
  EXPECT_EQ(after.targets[0].target, 3000);
  EXPECT_EQ(after.targets[0].returns, (std::vector<double>{2500.5, -3}));
  EXPECT_EQ(after.targets[0].steps, (std::vector<int64_t>{1000, 12}));
  ASSERT_EQ(after.animations.size(), 1u);
  const Animation &animation = after.animations[0], before = small_details().animations[0];
  EXPECT_EQ(animation.title, "best");
  EXPECT_EQ(animation.target, 3000);
  EXPECT_EQ(animation.earned, 2500.5);
  EXPECT_EQ(animation.steps, 1000);
  EXPECT_EQ(animation.frame_seconds, 0.032);
  EXPECT_EQ(animation.frame_steps, 4);
  EXPECT_EQ(animation.radii, before.radii);
  EXPECT_EQ(animation.frames, before.frames);
}

TEST(RolloutDetails, AreNoOtherScores) {
  Evaluation evaluation{.score = 83.2};
  put(evaluation, small_details());
  EXPECT_TRUE(rollouts_through_json(evaluation).also.empty());
}

TEST(RolloutDetails, AnEvaluationWithoutThemStaysAsItIs) {
  Evaluation evaluation{.score = 0.5};
  put(evaluation, RolloutDetails{});
  EXPECT_TRUE(evaluation.details.empty());
  EXPECT_TRUE(rollout_details(evaluation).robot.empty());
}

TEST(RolloutDetails, WhatIsMissingIsEmpty) {
  const Evaluation evaluation{
      .details = {{"rollouts", {{"robot", "Hopper"}, {"random_return", 0}, {"expert_return", 1}}}}};
  const RolloutDetails details = rollout_details(evaluation);
  EXPECT_EQ(details.robot, "Hopper");
  EXPECT_TRUE(details.data_returns.empty());
  EXPECT_TRUE(details.targets.empty());
  EXPECT_TRUE(details.animations.empty());
}

TEST(RolloutDetails, AreWrittenToThreeDecimals) {
  RolloutDetails details = small_details();
  details.animations[0].frames = {{0.12345, 1.0 / 3, 0, 0, 0, 0, 0, 0}};
  details.targets[0].returns[0] = 2.0 / 3;
  Evaluation evaluation;
  put(evaluation, details);
  const nlohmann::json& json = evaluation.details["rollouts"];
  EXPECT_EQ(json["animations"][0]["frames"].dump(), "[[0.123,0.333,0.0,0.0,0.0,0.0,0.0,0.0]]");
  EXPECT_EQ(json["targets"][0]["returns"].dump(), "[0.667,-3.0]");
}

TEST(RolloutDetails, AnAgentMayHaveNoTarget) {
  RolloutDetails details = small_details();
  details.targets[0].target = details.animations[0].target = kNaN;
  Evaluation evaluation;
  put(evaluation, details);
  EXPECT_TRUE(evaluation.details["rollouts"]["targets"][0]["target"].is_null());
  const RolloutDetails after = rollout_details(rollouts_through_json(evaluation));
  EXPECT_TRUE(std::isnan(after.targets[0].target));
  EXPECT_TRUE(std::isnan(after.animations[0].target));
}

TEST(RolloutDetails, SizesThatDoNotFitAreNamed) {
  EXPECT_EQ(error_after([](auto& json) { json["targets"][0]["steps"] = {5}; }),
            "f: rollouts: targets[0]: field \"steps\": expected 2 numbers, one for each return, got 1");
  EXPECT_EQ(
      error_after([](auto& json) { json["animations"][0]["frames"][1].erase(0); }),
      "f: rollouts: animations[0]: field \"frames\": expected 4 numbers for each of 2 capsules, got 7 in frame 1");
  EXPECT_EQ(
      error_after([](auto& json) { json["animations"][0]["radii"].push_back(1); }),
      "f: rollouts: animations[0]: field \"frames\": expected 4 numbers for each of 3 capsules, got 8 in frame 0");
}

TEST(RolloutDetails, NumbersThatAreNotFiniteAreNamed) {
  EXPECT_EQ(error_after([](auto& json) { json["data_returns"][1] = nullptr; }),
            "f: rollouts: field \"data_returns\": expected finite numbers, got nan at 1");
  EXPECT_EQ(error_after([](auto& json) { json["animations"][0]["frames"][1][3] = nullptr; }),
            "f: rollouts: animations[0]: field \"frames\": expected finite numbers, got nan at frame 1, place 3");
  EXPECT_EQ(error_after([](auto& json) { json["expert_return"] = nullptr; }),
            "f: rollouts: field \"expert_return\": expected a finite number, got nan");
}

TEST(RolloutDetails, WhatIsOfAnotherKindIsNamed) {
  EXPECT_EQ(error_of([] {
              rollout_details({.details = {{"rollouts", 5}}}, "f");
            }),
            "f: field \"rollouts\": expected an object, got 5");
  EXPECT_EQ(error_after([](auto& json) { json.erase("robot"); }), "f: rollouts: field \"robot\": is missing");
  EXPECT_EQ(error_after([](auto& json) { json["targets"][0]["steps"][0] = 1.5; }),
            "f: rollouts: targets[0]: field \"steps\": expected whole numbers from 0, got 1.500000");
  EXPECT_EQ(error_after([](auto& json) { json["animations"][0]["radii"][0] = -1; }),
            "f: rollouts: animations[0]: field \"radii\": expected numbers from 0, got -1.000000");
  EXPECT_EQ(error_after([](auto& json) { json["animations"][0]["frame_seconds"] = 0; }),
            "f: rollouts: animations[0]: field \"frame_seconds\": expected a number above 0, got 0.000000");
}

TEST(RolloutDetails, WhatCouldNotBeReadIsNotWritten) {
  RolloutDetails details = small_details();
  details.targets[0].returns[1] = kNaN;
  Evaluation evaluation;
  EXPECT_EQ(error_of([&] { put(evaluation, details); }),
            "rollouts to be written: rollouts: targets[0]: field \"returns\": expected finite numbers, got nan at 1");
}

}  // namespace
}  // namespace primal::run
