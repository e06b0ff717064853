#include "data/tokens/listops_expression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "support/errors.h"

namespace {

using primal::data::append_listops_source;
using primal::data::evaluate_listops;
using primal::data::kListOpsTokens;
using primal::data::listops_root;
using primal::tests::error_of;

std::vector<uint8_t> tokens_of(const std::string& text) {
  std::vector<uint8_t> tokens;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto found = std::ranges::find(kListOpsTokens, word);
    EXPECT_NE(found, kListOpsTokens.end()) << word;
    tokens.push_back(static_cast<uint8_t>(found - kListOpsTokens.begin()));
  }
  return tokens;
}

int64_t value_of(const std::string& text) { return evaluate_listops(tokens_of(text)); }

std::string source_of(const std::string& text) {
  std::string source;
  append_listops_source(tokens_of(text), source);
  return source;
}

std::string evaluation_error(const std::string& text) {
  return error_of([&] { value_of(text); });
}

TEST(ListOps, SmallestAndLargestAreAsNamed) {
  EXPECT_EQ(value_of("[MIN 4 7 2 ]"), 2);
  EXPECT_EQ(value_of("[MAX 0 3 ]"), 3);
}

TEST(ListOps, MedianOfAnOddCountIsTheMiddleValue) {
  EXPECT_EQ(value_of("[MED 3 1 2 ]"), 2);
  EXPECT_EQ(value_of("[MED 9 9 0 ]"), 9);
}

TEST(ListOps, MedianOfAnEvenCountIsTruncated) {
  EXPECT_EQ(value_of("[MED 1 2 ]"), 1);
  EXPECT_EQ(value_of("[MED 0 9 ]"), 4);
  EXPECT_EQ(value_of("[MED 7 8 ]"), 7);
  EXPECT_EQ(value_of("[MED 9 1 4 4 ]"), 4);
}

TEST(ListOps, SumIsTakenModuloTen) {
  EXPECT_EQ(value_of("[SM 5 5 ]"), 0);
  EXPECT_EQ(value_of("[SM 9 9 9 9 ]"), 6);
  EXPECT_EQ(value_of("[SM 3 4 2 ]"), 9);
}

TEST(ListOps, ExpressionsAreEvaluatedFromTheInside) {
  EXPECT_EQ(value_of("[MAX 2 [MIN 8 5 ] [SM 7 6 ] ]"), 5);
  EXPECT_EQ(value_of("[MED [SM 9 9 ] 1 [MAX 0 4 ] 6 ]"), 5);
  EXPECT_EQ(value_of("[SM [MED 2 5 ] [MIN 9 [MAX 1 7 ] ] 4 ]"), 4);
}

TEST(ListOps, ADigitIsAnExpressionWithoutARoot) {
  EXPECT_EQ(value_of("7"), 7);
  EXPECT_EQ(listops_root(tokens_of("7")), std::nullopt);
  EXPECT_EQ(listops_root({}), std::nullopt);
}

TEST(ListOps, RootIsTheOutermostOperator) {
  EXPECT_EQ(listops_root(tokens_of("[MIN 1 [MAX 2 3 ] ]")), primal::data::kListOpsMin);
  EXPECT_EQ(listops_root(tokens_of("[MAX 1 2 ]")), primal::data::kListOpsMax);
  EXPECT_EQ(listops_root(tokens_of("[MED 1 2 ]")), primal::data::kListOpsMedian);
  EXPECT_EQ(listops_root(tokens_of("[SM 1 2 ]")), primal::data::kListOpsSum);
}

TEST(ListOps, ExpressionsMayBeNestedDeeperThanTheStackOfAProgram) {
  constexpr size_t kDepth = 1'000'000;
  std::vector<uint8_t> tokens(kDepth, primal::data::kListOpsMax);
  tokens.push_back(3);
  tokens.resize(2 * kDepth + 1, primal::data::kListOpsEnd);
  EXPECT_EQ(evaluate_listops(tokens), 3);
}

TEST(ListOps, WhatIsNoExpressionIsAnErrorThatNamesTheToken) {
  EXPECT_EQ(evaluation_error(""), "listops: expected an expression, got no token");
  EXPECT_EQ(evaluation_error("]"), "listops: token 1: expected an operator or a digit, got \"]\"");
  EXPECT_EQ(evaluation_error("1 2"),
            "listops: token 2: expected the end after a complete expression, got one more token");
  EXPECT_EQ(evaluation_error("[MIN 1 2 ] ]"),
            "listops: token 5: expected the end after a complete expression, got one more token");
  EXPECT_EQ(evaluation_error("[MIN 1 [MED ] ]"), "listops: token 4: expected an argument of [MED, got \"]\"");
  EXPECT_EQ(evaluation_error("[SM"), "listops: expected a \"]\" for [SM, got the end after 1 token");
  EXPECT_EQ(evaluation_error("[SM 1 [MAX 2 ]"), "listops: expected a \"]\" for [SM, got the end after 5 tokens");
  EXPECT_EQ(error_of([] {
              evaluate_listops(std::vector<uint8_t>{10, 15});
            }),
            "listops: token 2: expected a number up to 14, got 15");
}

TEST(ListOps, SourceBracketsEveryArgumentFromTheLeft) {
  EXPECT_EQ(source_of("[MIN 4 7 2 ]"), "( ( ( ( [MIN 4 ) 7 ) 2 ) ] )");
  EXPECT_EQ(source_of("[MAX 2 [MIN 8 5 ] [SM 7 6 ] ]"),
            "( ( ( ( [MAX 2 ) ( ( ( [MIN 8 ) 5 ) ] ) ) ( ( ( [SM 7 ) 6 ) ] ) ) ] )");
  EXPECT_EQ(source_of("[MED [SM 1 2 ] 3 ]"), "( ( ( [MED ( ( ( [SM 1 ) 2 ) ] ) ) 3 ) ] )");
  EXPECT_EQ(source_of("4"), "4");
}

TEST(ListOps, SourceIsAppended) {
  std::string text = "before ";
  append_listops_source(tokens_of("[SM 1 2 ]"), text);
  EXPECT_EQ(text, "before ( ( ( [SM 1 ) 2 ) ] )");
}

}  // namespace
