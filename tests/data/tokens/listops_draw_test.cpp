// What is drawn has the statistics that a plain restatement of the rules has, in a sample of 12,000 expressions
// (classes and roots) or of 3,000 (all else).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "data/tokens/listops_expression.h"

namespace {

using primal::base::Random;
using primal::data::draw_listops;
using primal::data::evaluate_listops;
using primal::data::kListOpsEnd;
using primal::data::kListOpsMax;
using primal::data::kListOpsMedian;
using primal::data::kListOpsMin;
using primal::data::kListOpsSum;
using primal::data::ListOpsLimits;

/// What an expression is like.
struct Drawn {
  int64_t length = 0, operators = 0;
  int64_t depth = 0;  ///< of the deepest node, the root having depth 1
  uint8_t root = 0;
  int64_t arguments = 0, subtrees = 0;  ///< of the root
  int64_t value = 0;
  int64_t fewest_arguments = 1000, most_arguments = 0;  ///< of any operator
};

Drawn describe(const std::vector<uint8_t>& tokens) {
  Drawn drawn{.length = std::ssize(tokens), .root = tokens.front(), .value = evaluate_listops(tokens)};
  std::vector<int64_t> open;  // arguments so far
  for (const uint8_t token : tokens) {
    if (token == kListOpsEnd) {
      drawn.fewest_arguments = std::min(drawn.fewest_arguments, open.back());
      drawn.most_arguments = std::max(drawn.most_arguments, open.back());
      if (open.size() == 1) drawn.arguments = open.back();
      open.pop_back();
      continue;
    }
    drawn.depth = std::max(drawn.depth, std::ssize(open) + 1);
    if (!open.empty()) ++open.back();
    if (token < kListOpsMin) continue;
    if (open.size() == 1) ++drawn.subtrees;
    ++drawn.operators;
    open.push_back(0);
  }
  return drawn;
}

constexpr int64_t kSample = 4000;

/// Expressions of the lengths of the Long Range Arena.
const std::vector<Drawn>& sample() {
  static const std::vector<Drawn> kDrawn = [] {
    std::vector<Drawn> drawn;
    Random random(1);
    for (std::vector<uint8_t> tokens; std::ssize(drawn) < kSample;) {
      if (draw_listops(random, {}, tokens)) drawn.push_back(describe(tokens));
    }
    return drawn;
  }();
  return kDrawn;
}

template <typename Condition>
int64_t count(const Condition& condition) {
  return std::ranges::count_if(sample(), condition);
}

/// The share that is expected, as it was measured in a sample of its own and rounded.
struct Measured {
  double percent = 0;
  int64_t cases = 12000;
  double rounding = 0.05;
};

/// Within four standard errors of the difference of two samples: one of 16,000 right shares is beyond that.
void expect_share(int64_t found, int64_t of, const Measured& expected, const std::string& what) {
  const double share = expected.percent / 100;
  const double error =
      std::sqrt(share * (1 - share) * (1.0 / static_cast<double>(of) + 1.0 / static_cast<double>(expected.cases)));
  EXPECT_NEAR(static_cast<double>(found) / static_cast<double>(of), share, 4 * error + expected.rounding / 100) << what;
}

TEST(ListOpsDraw, LengthsAreStrictlyBetween500And2000) {
  const auto [shortest, longest] = std::ranges::minmax(sample(), {}, &Drawn::length);
  EXPECT_GE(shortest.length, 501);
  EXPECT_LE(longest.length, 1999);
  // The limits themselves are kept: an expression may have either length.
  Random random(2);
  std::map<bool, int64_t> kept;
  std::vector<uint8_t> tokens;
  for (int64_t i = 0; i < 2000; ++i) {
    if (draw_listops(random, {.shortest = 5, .longest = 6}, tokens)) ++kept[tokens.size() == 5];
  }
  EXPECT_GT(kept[true], 0);
  EXPECT_GT(kept[false], 0);
}

TEST(ListOpsDraw, OneOfTwelveExpressionsIsKept) {
  constexpr int64_t kDraws = 40000;
  constexpr ListOpsLimits kOnlyTooLong{.shortest = 1, .longest = 1999};
  std::vector<uint8_t> tokens;
  int64_t kept = 0, not_too_long = 0;
  Random random(3), same(3);
  for (int64_t i = 0; i < kDraws; ++i) {
    kept += draw_listops(random, {}, tokens) ? 1 : 0;
    not_too_long += draw_listops(same, kOnlyTooLong, tokens) ? 1 : 0;
  }
  constexpr int64_t kMeasuredDraws = 3000 * 1000 / 82;
  expect_share(kept, kDraws, {8.2, kMeasuredDraws}, "kept");
  expect_share(kDraws - not_too_long, kDraws, {1.1, kMeasuredDraws}, "too long");
}

TEST(ListOpsDraw, LengthsHaveTheKnownQuantiles) {
  const std::map<int64_t, double> quantiles = {{541, 5}, {706, 25}, {959, 50}, {1331, 75}, {1801, 95}};
  for (const auto& [length, percent] : quantiles) {
    expect_share(count([&](const Drawn& drawn) { return drawn.length <= length; }), kSample, {percent, 3000, 0.2},
                 "up to " + std::to_string(length));
  }
}

TEST(ListOpsDraw, AnExpressionHasThousandTokensAnd148OperatorsInTheMean) {
  double length = 0, operators = 0;
  for (const Drawn& drawn : sample()) {
    length += static_cast<double>(drawn.length) / kSample;
    operators += static_cast<double>(drawn.operators) / kSample;
  }
  // The lengths deviate by 396, and the operators are proportional to them.
  const double error = 396 * std::sqrt(1.0 / kSample + 1.0 / 3000);
  EXPECT_NEAR(length, 1041, 4 * error);
  EXPECT_NEAR(operators, 148, 4 * error * 148 / 1041 + 0.5);
}

TEST(ListOpsDraw, EveryExpressionReachesTheDepthOfTen) {
  for (const Drawn& drawn : sample()) EXPECT_EQ(drawn.depth, 10);
}

TEST(ListOpsDraw, OperatorsHaveTwoToTenArguments) {
  EXPECT_EQ(std::ranges::min(sample(), {}, &Drawn::fewest_arguments).fewest_arguments, 2);
  EXPECT_EQ(std::ranges::max(sample(), {}, &Drawn::most_arguments).most_arguments, 10);
}

TEST(ListOpsDraw, ClassesHaveTheKnownShares) {
  constexpr std::array kPercent = {17.2, 8.8, 7.5, 8.2, 8.9, 8.6, 7.6, 7.1, 9.0, 17.0};
  for (size_t value = 0; value < kPercent.size(); ++value) {
    expect_share(count([&](const Drawn& drawn) { return drawn.value == static_cast<int64_t>(value); }), kSample,
                 {kPercent[value]}, "class " + std::to_string(value));
  }
}

TEST(ListOpsDraw, RootOperatorsAreEquallyFrequent) {
  for (const uint8_t root : {kListOpsMin, kListOpsMax, kListOpsMedian, kListOpsSum}) {
    expect_share(count([&](const Drawn& drawn) { return drawn.root == root; }), kSample, {25}, std::to_string(root));
  }
}

TEST(ListOpsDraw, ClassesDependOnTheRootOperator) {
  struct Case {
    uint8_t root;
    int64_t value;
    double percent, rounding;
  };
  // A quarter of the 3,000 expressions had each root. The wide ones are given as a range.
  for (const auto& [root, value, percent, rounding] :
       {Case{kListOpsMin, 0, 57, 0.5}, Case{kListOpsMin, 1, 22, 0.5}, Case{kListOpsMin, 2, 10, 0.5},
        Case{kListOpsMax, 9, 54, 2}, Case{kListOpsMax, 8, 23, 0.5}, Case{kListOpsMedian, 5, 21, 0.5},
        Case{kListOpsSum, 0, 10, 2}, Case{kListOpsSum, 5, 10, 2}, Case{kListOpsSum, 9, 10, 2}}) {
    const int64_t of = count([&](const Drawn& drawn) { return drawn.root == root; });
    const int64_t found = count([&](const Drawn& drawn) { return drawn.root == root && drawn.value == value; });
    expect_share(found, of, {percent, 750, rounding}, std::to_string(root) + " is " + std::to_string(value));
  }
}

TEST(ListOpsDraw, LongExpressionsHaveRootsWithManyArguments) {
  constexpr std::array kPercent = {4, 7, 8, 10, 12, 13, 14, 15, 17};  // 2 to 10 arguments
  for (size_t i = 0; i < kPercent.size(); ++i) {
    const auto arguments = static_cast<int64_t>(i) + 2;
    expect_share(count([&](const Drawn& drawn) { return drawn.arguments == arguments; }), kSample,
                 {static_cast<double>(kPercent[i]), 12000, 0.5}, std::to_string(arguments) + " arguments");
  }
  constexpr std::array kSubtreePercent = {27, 36, 24, 9, 3};  // 1 to 5 sub-expressions among them
  for (size_t i = 0; i < kSubtreePercent.size(); ++i) {
    const auto subtrees = static_cast<int64_t>(i) + 1;
    expect_share(count([&](const Drawn& drawn) { return drawn.subtrees == subtrees; }), kSample,
                 {static_cast<double>(kSubtreePercent[i]), 12000, 0.5}, std::to_string(subtrees) + " sub-expressions");
  }
}

TEST(ListOpsDraw, WhoSeesOnlyTheFirstTokenIsRightInAboutAThirdOfTheCases) {
  std::map<uint8_t, std::array<int64_t, 10>> by_root;
  for (const Drawn& drawn : sample()) ++by_root[drawn.root][static_cast<size_t>(drawn.value)];
  int64_t right = 0;
  for (const auto& [root, counts] : by_root) right += std::ranges::max(counts);
  expect_share(right, kSample, {36.5}, "the most frequent value of each root");
}

}  // namespace
