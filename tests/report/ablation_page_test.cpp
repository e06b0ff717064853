#include "report/ablation_page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/page_data.h"

namespace {

using primal::report::AblationResults;
using primal::tests::data_of;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

AblationResults results_of(const std::string& title) {
  return {.title = title,
          .protocol = "honest",
          .seeds = 2,
          .rows = {{.name = "base",
                    .change = "the preset as it is",
                    .parameters = 2000000,
                    .seeds = 2,
                    .score = {.mean = 0.9, .half = 0.01},
                    .tokens_per_second = {.mean = 100}},
                   {.name = "right",
                    .change = "the output made of e alone",
                    .set = {"model.projections=right"},
                    .parameters = 1500000,
                    .seeds = 2,
                    .score = {.mean = 0.88, .half = 0.02},
                    .score_difference = {.mean = -0.02, .half = 0.005, .count = 2},
                    .objective = {.mean = 0.25, .half = 0.125, .count = 2},
                    .tokens_per_second = {.mean = 110},
                    .speed_ratio = {.mean = 1.1, .half = 0.04, .count = 2}},
                   {.name = "deep", .change = "twice the layers", .skipped = "no"}}};
}

TEST(AblationPage, HoldsDifferencesAndWhyAVariantIsNotThere) {
  const nlohmann::json data = data_of(primal::report::ablation_page(results_of("uea/X")));
  EXPECT_EQ(data["kind"], "ablation");
  EXPECT_EQ(data["rows"][1]["difference"], nlohmann::json({{"mean", -0.02}, {"half", 0.005}, {"count", 2}}));
  EXPECT_EQ(data["rows"][1]["speed_ratio"], nlohmann::json({{"mean", 1.1}, {"half", 0.04}, {"count", 2}}));
  EXPECT_TRUE(data["rows"][0]["difference"]["mean"].is_null());
  EXPECT_FALSE(data["rows"][0].contains("skipped"));
  EXPECT_EQ(data["rows"][2]["skipped"], "no");
}

TEST(AblationPage, TheTableHasPointsAndRatios) {
  const std::string table = primal::report::ablation_table(results_of("uea/X"));
  EXPECT_NE(table.find("-2.00 +- 0.50"), table.npos);
  EXPECT_NE(table.find("0.25 +- 0.12"), table.npos);
  EXPECT_NE(table.find("1.10 +- 0.04"), table.npos);
  EXPECT_NE(table.find("not trained: no"), table.npos);
}

TEST(AblationPage, HostileNamesStayText) {
  const std::string name = "</script><img src=x onerror=alert(1)>";
  const std::string page = primal::report::ablation_page(results_of(name));
  EXPECT_EQ(page.find("<img"), page.npos);
  EXPECT_EQ(data_of(page)["title"], name);
}

TEST(AblationPage, AnEstimateLeavesOutWhatIsNotFinite) {
  const auto estimate = primal::report::estimate_of({1, kNaN, 3});
  EXPECT_DOUBLE_EQ(estimate.mean, 2);
  EXPECT_EQ(estimate.count, 2);
  EXPECT_NEAR(estimate.half, 12.7062, 1e-4);
  EXPECT_TRUE(std::isnan(primal::report::estimate_of({1}).half));
}

}  // namespace
