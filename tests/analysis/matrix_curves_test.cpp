#include "analysis/matrix_curves.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/rank_advice.h"

namespace primal::analysis {
namespace {

run::MatrixFacts layer_that_needs(std::array<int64_t, 3> ranks, const std::string& name = "layer 1") {
  run::MatrixFacts layer{.layer = name, .kind = "softmax", .samples = 1, .features = 16};
  layer.all.ranks = ranks;
  return layer;
}

TEST(MatrixCurves, EnergyRankIsThatOfTheSquares) {
  EXPECT_NEAR(energy_rank(std::vector<double>{2, 2, 2, 2}), 4, 1e-12);
  EXPECT_NEAR(energy_rank(std::vector<double>{7, 0, 0}), 1, 1e-12);
  const double p = 9.0 / 10, q = 1.0 / 10;
  EXPECT_NEAR(energy_rank(std::vector<double>{3e200, 1e200}), std::exp(-p * std::log(p) - q * std::log(q)), 1e-12);
  EXPECT_EQ(energy_rank(std::vector<double>{0, 0}), 0);
}

TEST(MatrixCurves, ExplainedEnergyAddsUpSquares) {
  const auto explained = explained_energy(std::vector<double>{2, 1, 1}, 4);
  ASSERT_EQ(explained.size(), 4u);
  EXPECT_NEAR(explained[0], 4.0 / 6, 1e-12);
  EXPECT_NEAR(explained[1], 5.0 / 6, 1e-12);
  EXPECT_EQ(explained[2], 1);
  EXPECT_EQ(explained[3], 1);  // a list that ends has explained everything
  EXPECT_EQ(explained_energy(std::vector<double>{0, 0}, 2), (std::vector<double>{1, 1}));
}

TEST(MatrixCurves, RankIsTheSmallestThatKeepsAShare) {
  std::vector<double> explained;
  for (int i = 1; i <= 10; ++i) explained.push_back(i * 0.1);  // 0.3 and 0.6 are not what their digits say
  EXPECT_EQ(rank_for(explained, 0.9), 9);
  EXPECT_EQ(rank_for(explained, 0.91), 10);
  EXPECT_EQ(rank_for(explained, 0.05), 1);
}

TEST(MatrixCurves, PlacesBeginDenselyAndEndAtTheLast) {
  EXPECT_EQ(shown_places(3), (std::vector<int64_t>{1, 2, 3}));
  const auto places = shown_places(2048);
  EXPECT_EQ(places[31], 32);
  EXPECT_EQ(places.back(), 2048);
  EXPECT_LT(places.size(), 120u);
  for (size_t i = 1; i < places.size(); ++i) EXPECT_GT(places[i], places[i - 1]);
}

TEST(MatrixCurves, AreMeansAndDeviationsOverMatricesOfAnySize) {
  const std::vector<SingularValues> matrices{{3, 1}, {1, 1, 1, 1}};
  const auto curves = matrix_curves(matrices, shown_places(4), /*with_deviations=*/true);
  EXPECT_EQ(curves.values, (std::vector<double>{2, 1, 0.5, 0.5}));
  EXPECT_NEAR(curves.deviations[0], std::sqrt(2.0), 1e-12);
  EXPECT_EQ(curves.deviations[1], 0);
  EXPECT_NEAR(curves.explained[0], (0.9 + 0.25) / 2, 1e-12);
  EXPECT_NEAR(curves.explained[1], (1 + 0.5) / 2, 1e-12);
  EXPECT_NEAR(curves.explained_deviations[0], 0.65 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(curves.explained[3], 1);
  EXPECT_EQ(curves.ranks, (std::array<int64_t, 3>{4, 4, 4}));  // 0.875 with three
  EXPECT_NEAR(curves.effective_rank, (energy_rank(matrices[0]) + 4) / 2, 1e-12);
  EXPECT_TRUE(matrix_curves({matrices[0]}, shown_places(2), true).deviations.empty());
}

TEST(RankAdvice, IsASettingForEachShare) {
  const std::vector<run::MatrixFacts> layers{layer_that_needs({4, 7, 12}), layer_that_needs({4, 9, 12}, "layer 2")};
  const auto advice = rank_advice(layers);
  ASSERT_EQ(advice.size(), 3u);
  EXPECT_EQ(advice[0].setting, "model.rank=4");
  EXPECT_EQ(advice[1].setting, "model.rank=7,9");
  EXPECT_EQ(advice[1].share, 0.95);
  EXPECT_EQ(advice[1].ranks, (std::vector<int64_t>{7, 9}));
  EXPECT_TRUE(rank_notes(layers).empty());
}

TEST(RankAdvice, NeedsEveryLayer) {
  std::vector<run::MatrixFacts> layers{layer_that_needs({4, 7, 12}), layer_that_needs({4, 9, 12}, "layer 2")};
  layers[1].left_out = "5000 tokens";
  EXPECT_TRUE(rank_advice(layers).empty());
  EXPECT_TRUE(rank_advice({}).empty());
}

TEST(RankAdvice, SaysWhatAPrimalLayerCannotHold) {
  const auto notes = rank_notes({layer_that_needs({12, 30, 60})});
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].rfind("layer 1 needs 30 pairs for 95 %, more than the 16 channels of a head", 0), 0u);
}

}  // namespace
}  // namespace primal::analysis
