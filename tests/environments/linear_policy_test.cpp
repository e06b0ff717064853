#include "environments/linear_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "environments/moments.h"
#include "support/errors.h"

namespace {

using namespace primal::environments;
using primal::base::Fields;
using primal::base::Random;
using primal::tests::contains;
using primal::tests::error_of;

LinearPolicy small_policy() {
  return {.states = 2,
          .actions = 3,
          .weights = {0.1, 0.2, -0.3, 0.4, 5, 6},
          .mean = {1, -1},
          .deviation = {2, 0.5},
          .noise = 0};
}

std::vector<double> action_of(const LinearPolicy& policy, const std::vector<double>& observation, uint64_t seed = 1) {
  Random random(seed);
  std::vector<double> action(static_cast<size_t>(policy.actions));
  policy.act(observation, random, action);
  return action;
}

TEST(LinearPolicy, IsLinearInTheStandardisedObservationAndClipped) {
  const std::vector<double> action = action_of(small_policy(), {2, -0.5});  // standardised 0.5 and 1
  EXPECT_DOUBLE_EQ(action[0], 0.1 * 0.5 + 0.2);
  EXPECT_DOUBLE_EQ(action[1], -0.3 * 0.5 + 0.4);
  EXPECT_EQ(action[2], 1);
}

TEST(LinearPolicy, IgnoresWhatHardlyEverChanges) {
  LinearPolicy policy = small_policy();
  policy.deviation[1] = 0.99e-7;
  EXPECT_EQ(action_of(policy, {2, -0.5}), action_of(policy, {2, 1000}));
  EXPECT_DOUBLE_EQ(action_of(policy, {2, 1000})[0], 0.05);
}

TEST(LinearPolicy, AddsNoiseOfTheGivenDeviation) {
  LinearPolicy policy = LinearPolicy::at_rest(1, 1, 0.1);
  Random random(3);
  Moments moments(1);
  std::vector<double> action(1);
  for (int i = 0; i < 20000; ++i) {
    policy.act(std::vector<double>{5}, random, action);
    moments.add(action);
  }
  EXPECT_NEAR(moments.mean[0], 0, 0.003);
  EXPECT_NEAR(moments.deviation()[0], 0.1, 0.003);
  EXPECT_EQ(action_of(policy.without_noise(), {5}), std::vector<double>{0});
}

TEST(LinearPolicy, ComesBackFromJson) {
  LinearPolicy policy = small_policy();
  policy.weights[0] = 1.0 / 3;
  policy.noise = 0.1;
  const nlohmann::json json = nlohmann::json::parse(to_json(policy).dump());
  EXPECT_EQ(policy_of(Fields(json, "file"), 2, 3), policy);
  EXPECT_EQ(policy.rounded().weights[0], 0.333333333);
}

TEST(LinearPolicy, FilesThatDoNotFitAreNamed) {
  const auto complaint = [](const nlohmann::json& json, int64_t states, int64_t actions) {
    return error_of([&] { policy_of(Fields(json, "p.json"), states, actions); });
  };
  nlohmann::json json = to_json(small_policy());
  EXPECT_TRUE(contains(complaint(json, 3, 3), "p.json: field \"weights\": expected 3 rows of 3 numbers"));
  EXPECT_TRUE(contains(complaint(json, 2, 1), "expected 1 rows of 2 numbers"));
  json["mean"] = {1};
  EXPECT_TRUE(contains(complaint(json, 2, 3), "field \"mean\": expected 2 numbers, got 1"));
  json = to_json(small_policy());
  json["noise"] = -1;
  EXPECT_TRUE(contains(complaint(json, 2, 3), "field \"noise\": expected a number from 0"));
  json.erase("deviation");
  EXPECT_TRUE(contains(complaint(json, 2, 3), "field \"deviation\""));
}

TEST(Moments, AreThoseOfTheWholeSample) {
  Random random(1);
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(1e6 + random.normal());
  // Seen in three parts, one of them empty, one of a single value.
  Moments all(1), part(1);
  for (size_t i = 0; i < values.size(); ++i) {
    part.add(std::vector<double>{values[i]});
    if (i != 0 && i != 600 && i + 1 != values.size()) continue;
    all.add(part);
    part = Moments(1);
  }
  all.add(part);
  double mean = 0, squares = 0;
  for (const double value : values) mean += (value - 1e6) / 1000;
  for (const double value : values) squares += std::pow(value - 1e6 - mean, 2);
  EXPECT_EQ(all.count, 1000);
  EXPECT_NEAR(all.mean[0], 1e6 + mean, 1e-8);
  EXPECT_NEAR(all.deviation()[0], std::sqrt(squares / 999), 1e-9);
  EXPECT_EQ(Moments(2).deviation(), (std::vector<double>{1, 1}));
}

}  // namespace
