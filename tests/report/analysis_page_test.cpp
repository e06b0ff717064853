#include "report/analysis_page.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "support/page_data.h"

namespace {

using primal::report::AnalysisPage;
using primal::report::KsvdTable;
using primal::tests::data_of;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

primal::run::MatrixFacts softmax_layer() {
  const primal::run::MatrixCurves curves{.values = {2, 1},
                                         .explained = {0.8, 1},
                                         .explained_deviations = {0.1, 0},
                                         .effective_rank = 1.5,
                                         .effective_rank_deviation = kNothing,
                                         .ranks = {2, 2, 2}};
  return {.layer = "layer 1",
          .kind = "softmax",
          .samples = 3,
          .tokens = 2,
          .features = 1,
          .places = {1, 2},
          .all = curves,
          .heads = {curves}};
}

AnalysisPage page_of(const std::string& name) {
  const KsvdTable table{.layer = "layer 1",
                        .about = "s = 4",
                        .columns = {"trained", "random"},
                        .rows = {{.label = "energy",
                                  .wanted = "1",
                                  .is_share = true,
                                  .cells = {{"0.5 +- 0.1", 0.5, 0.1}, {.text = "-"}}}},
                        .explained = {{0.9, 1}, {}},
                        .verdict = "layer 1 is not a kernel SVD",
                        .grade = "closer"};
  return {{{.name = name,
            .directory = "runs/" + name,
            .spectra = {.matrices = {softmax_layer()}, .matrices_of = "3 samples", .what = "some data"},
            .findings = {{.title = "Odd", .text = "t", .advice = "a"}},
            .ksvd = {table},
            .changed = {.title = "accuracy", .columns = {"none"}, .rows = {{"layer 1", "10 %"}}}}}};
}

TEST(AnalysisPage, HoldsSpectraRanksAndTheCheck) {
  const nlohmann::json data = data_of(primal::report::analysis_page(page_of("mine")));
  EXPECT_EQ(data["kind"], "analysis");
  const nlohmann::json& run = data["runs"][0];
  EXPECT_EQ(run["what"], "some data");
  EXPECT_EQ(run["matrices"]["of"], "3 samples");
  EXPECT_EQ(run["matrices"]["layers"][0]["explained"], nlohmann::json({0.8, 1}));
  EXPECT_EQ(run["matrices"]["layers"][0]["effectiveRankDeviation"], nullptr);
  EXPECT_EQ(run["matrices"]["advice"][1]["setting"], "model.rank=2");
  EXPECT_EQ(run["matrices"]["notes"].size(), 1u);  // two pairs, one channel
  EXPECT_EQ(run["ksvd"][0]["rows"][0]["cells"][0]["mean"], 0.5);
  EXPECT_EQ(run["ksvd"][0]["rows"][0]["cells"][1]["mean"], nullptr);
  EXPECT_EQ(run["ksvd"][0]["verdict"], "layer 1 is not a kernel SVD");
  EXPECT_EQ(run["changed"]["rows"][0][1], "10 %");
  EXPECT_EQ(run["findings"][0]["title"], "Odd");
}

TEST(AnalysisPage, RunsWithoutMatricesHaveNone) {
  AnalysisPage page = page_of("mine");
  page.runs[0].spectra.matrices.clear();
  EXPECT_EQ(data_of(primal::report::analysis_page(page))["runs"][0]["matrices"], nullptr);
}

TEST(AnalysisPage, HostileNamesStayText) {
  const std::string name = "</script><img src=x onerror=alert(1)>";
  const std::string page = primal::report::analysis_page(page_of(name));
  EXPECT_EQ(page.find("<img"), page.npos);
  EXPECT_EQ(data_of(page)["runs"][0]["name"], name);
}

}  // namespace
