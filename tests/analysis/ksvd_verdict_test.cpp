#include "analysis/ksvd_verdict.h"

#include <gtest/gtest.h>

namespace primal::analysis {
namespace {

void set(MeasuredWeights& weights, Measure measure, double middle, double off = 0.01) {
  Spread& spread = weights.all[index_of(measure)] = {};
  for (const double value : {middle - off, middle, middle + off}) spread.add(value);
}

KsvdLayer layer_with(double residual, double direction, double energy) {
  KsvdLayer layer{.name = "layer 1", .rank = 4, .rows = 12, .features = 8, .heads = 2, .samples = 3};
  set(layer.own, Measure::residual, residual);
  set(layer.own, Measure::direction, direction);
  set(layer.own, Measure::energy, energy);
  set(layer.own, Measure::balance, 0.5);
  set(layer.own, Measure::largest_part, 0.2);
  set(layer.random, Measure::residual, 1.1);
  set(layer.random, Measure::direction, 0.98);
  set(layer.random, Measure::energy, 0.4);
  return layer;
}

TEST(KsvdVerdict, GradesAreThoseOfTheConditions) {
  EXPECT_EQ(ksvd_verdict(layer_with(0.02, 0.01, 0.99)).grade, KsvdGrade::holds);
  EXPECT_EQ(ksvd_verdict(layer_with(0.02, 0.01, 0.6)).grade, KsvdGrade::other_pairs);
  EXPECT_EQ(ksvd_verdict(layer_with(0.9, 0.01, 0.99)).grade, KsvdGrade::unscaled);
  EXPECT_EQ(ksvd_verdict(layer_with(0.9, 0.6, 0.99)).grade, KsvdGrade::closer);
  EXPECT_EQ(ksvd_verdict(layer_with(1.0, 0.97, 0.99)).grade, KsvdGrade::chance);
}

TEST(KsvdVerdict, SaysTheNumbersBesideThoseOfChance) {
  const KsvdLayer trained = layer_with(0.9, 0.6, 0.55), untrained = layer_with(1.2, 0.97, 0.41);
  EXPECT_EQ(
      ksvd_verdict(trained, &untrained).text,
      "layer 1 is not a kernel SVD, though closer to one than random weights: residual 0.9, with Lambda free 0.6 "
      "(random weights 1.1, with Lambda free 0.98; untrained 1.2, with Lambda free 0.97). Its scores keep 55 % of "
      "the energy of the best 4 pairs, random ones 40 %.");
}

TEST(KsvdVerdict, ZeroObjectiveIsNoSolution) {
  KsvdLayer layer = layer_with(0.9, 0.6, 0.55);
  set(layer.own, Measure::balance, 0.03, 0.001);
  EXPECT_TRUE(ksvd_verdict(layer).text.ends_with(
      " J is 0.03 of its parts, as near to zero as at a solution, which it does not show."));
  set(layer.own, Measure::largest_part, 1e-6, 0);
  EXPECT_TRUE(ksvd_verdict(layer).text.ends_with(" Every part of J has vanished: that is its trivial zero."));
}

TEST(KsvdVerdict, FullRankSaysNothingOfEnergy) {
  KsvdLayer layer = layer_with(0.9, 0.6, 1);
  layer.features = 4;
  EXPECT_TRUE(ksvd_verdict(layer).text.ends_with(
      " A rank of 4 is no less than its 4 features: any weights keep all of the energy."));
}

TEST(KsvdVerdict, WithoutTokensThereIsNone) {
  EXPECT_EQ(ksvd_verdict({.name = "layer 1"}).text, "layer 1 saw no token");
}

TEST(Spread, CountsFiniteNumbers) {
  Spread spread;
  EXPECT_TRUE(std::isnan(spread.mean()));
  for (const double value : {1.0, std::nan(""), 3.0}) spread.add(value);
  EXPECT_EQ(spread.count(), 2);
  EXPECT_DOUBLE_EQ(spread.mean(), 2);
  EXPECT_DOUBLE_EQ(spread.deviation(), std::sqrt(2.0));
}

}  // namespace
}  // namespace primal::analysis
