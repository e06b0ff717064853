// The page: complete, closed to the outside, and deaf to what a hostile run puts into its texts.
#include "report/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numbers>
#include <regex>

#include "report/page_files.h"
#include "report/report_page.h"
#include "report/sweep_page.h"
#include "run/run.h"
#include "support/errors.h"
#include "support/fake_run.h"
#include "support/files.h"
#include "support/page_data.h"

namespace {

using primal::report::report_page;
using primal::run::load_run;
using primal::tests::count;
using primal::tests::data_of;
using primal::tests::FakeRun;

using ReportPage = primal::tests::FolderTest;

TEST(PageFiles, AreEmbeddedAndCannotEndTheirScript) {
  ASSERT_FALSE(primal::report::page_files().empty());
  EXPECT_EQ(primal::report::page_files()[0].name, "chart.min.js") << "the others need it";
  for (const auto& file : primal::report::page_files()) {
    EXPECT_FALSE(file.text.empty()) << file.name;
    EXPECT_EQ(file.sha256_hex.size(), 64u) << file.name;
    if (file.name.ends_with(".html")) continue;
    EXPECT_EQ(file.text.find("</s"), file.text.npos) << file.name << " would end its own element";
    EXPECT_EQ(file.text.find("<!--"), file.text.npos) << file.name;
    EXPECT_EQ(file.text.find('\r'), file.text.npos) << file.name << ": browsers change it, and the hash with it";
  }
}

TEST(Page, EscapesTexts) {
  EXPECT_EQ(primal::report::escape_html("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(primal::report::script_json("</script>"), "\"\\u003c/script>\"");
  EXPECT_EQ(primal::report::script_json("a\xff"), "\"a\xEF\xBF\xBD\"") << "no UTF-8";
}

TEST(Page, RoundsNumbersToSixDigits) {
  EXPECT_EQ(primal::report::rounded(0.12345678).dump(), "0.123457");
  EXPECT_EQ(primal::report::rounded(1.0 / 0.0).dump(), "null");
}

TEST_F(ReportPage, HoldsTheFiguresOfARun) {
  const nlohmann::json data = data_of(report_page({load_run(FakeRun().write(folder))}));
  EXPECT_EQ(data["kind"], "runs");
  EXPECT_TRUE(data["comparison"].is_null());
  const auto& run = data["runs"][0];
  EXPECT_EQ(run["training"]["taskLoss"], nlohmann::json({1.5, 1.5, 1.5}));
  EXPECT_EQ(run["result"]["test"]["hits"], 8);
  EXPECT_EQ(run["result"]["test"]["cases"], 10);
  EXPECT_EQ(run["layers"][0]["lambda"]["mean"], nlohmann::json({0.45, 0.35, 0.25})) << "each head is sorted first";
  EXPECT_EQ(run["layers"][0]["lambda"]["low"], nlohmann::json({0.3, 0.2, 0.1}));
}

TEST_F(ReportPage, HoldsTimeScalesBySharesOfTheChannels) {
  FakeRun fake;
  EXPECT_TRUE(data_of(report_page({load_run(fake.write(folder))}))["runs"][0]["timeScales"].empty());
  std::vector<double> many;
  for (int i = 0; i <= 1000; ++i) many.push_back(1 + i);
  fake.analysis["time_scales"] = {{{"layer", "layer 1"}, {"memory", "forward"}, {"tokens", {1.0, 4.0, 16.0}}},
                                  {{"layer", "layer 1"}, {"memory", "backward"}, {"tokens", many}},
                                  {{"layer", "layer 2"}, {"memory", "q and k"}, {"tokens", {2.0}}}};
  const nlohmann::json memories = data_of(report_page({load_run(fake.write(folder))}))["runs"][0]["timeScales"];
  EXPECT_EQ(memories[0]["share"], nlohmann::json({0.0, 0.5, 1.0}));
  EXPECT_EQ(memories[0]["tokens"], nlohmann::json({1.0, 4.0, 16.0}));
  EXPECT_EQ(memories[1]["tokens"].size(), 101u);
  EXPECT_EQ(memories[1]["tokens"].back(), 1001.0);
  EXPECT_EQ(memories[2]["share"], nlohmann::json({0.5}));
}

TEST_F(ReportPage, ShowsAnUnfinishedRun) {
  FakeRun fake;
  fake.result = nullptr;
  const std::string page = report_page({load_run(fake.write(folder / "half"))});
  EXPECT_TRUE(data_of(page)["runs"][0]["result"].is_null());
  EXPECT_NE(page.find("half: unfinished, 30 steps"), page.npos);
}

TEST_F(ReportPage, HostileNamesStayText) {
  FakeRun fake;
  fake.result["data"] = primal::tests::kHostileNames[0];
  fake.config += "x = \"</script><script>alert(2)</script>\"\n";
  const std::string page = report_page({load_run(fake.write(folder / "<img src=x onerror=alert(3)>"))});
  EXPECT_EQ(page.find("<script>alert"), page.npos);
  EXPECT_EQ(page.find("<img"), page.npos);
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
  EXPECT_EQ(data_of(page)["runs"][0]["result"]["test"]["classes"][2]["name"], primal::tests::kHostileNames[2]);
}

/// A run with everything that a family may say of its cases, named as badly as can be.
FakeRun run_with_cases() {
  const std::string hostile = primal::tests::kHostileNames[0];
  FakeRun fake;
  nlohmann::json& test = fake.result["test"];
  test["reference_lines"] = {{{"name", hostile}, {"score", 0.25}}};
  test["groups"] = {{{"name", "length"}, {"rows", {{{"name", hostile}, {"cases", 8}, {"right", 4}}}}}};
  test["pictures"] = {{{"width", 2},
                       {"height", 1},
                       {"grey", "AP8="},
                       {"truth", hostile},
                       {"predicted", "b"},
                       {"share", 0.9},
                       {"right", false}}};
  test["texts"] = {{{"texts", {hostile, "two"}}, {"truth", "a"}, {"predicted", "b"}, {"share", 0.75}}};
  return fake;
}

TEST_F(ReportPage, HoldsGroupsAndCases) {
  const nlohmann::json data = data_of(report_page({load_run(run_with_cases().write(folder))}));
  const auto& test = data["runs"][0]["result"]["test"];
  EXPECT_EQ(test["referenceLines"][0]["score"], 0.25);
  EXPECT_EQ(test["groups"][0]["rows"][0]["cases"], 8);
  EXPECT_NEAR(test["groups"][0]["rows"][0]["interval"][0], 0.2152, 1e-4) << "Wilson";
  EXPECT_EQ(test["pictures"][0]["grey"], "AP8=");
  EXPECT_EQ(test["pictures"][0]["right"], false);
  EXPECT_EQ(test["texts"][0]["texts"], nlohmann::json({primal::tests::kHostileNames[0], "two"}));
  EXPECT_TRUE(test["also"].empty()) << "they are no tiles";
}

TEST_F(ReportPage, HostileCasesStayText) {
  const std::string page = report_page({load_run(run_with_cases().write(folder))});
  EXPECT_EQ(page.find("<script>alert"), page.npos);
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
}

TEST_F(ReportPage, ARunOfAnEarlierVersionHasNoCases) {
  const nlohmann::json data = data_of(report_page({load_run(FakeRun().write(folder))}));
  for (const char* key : {"referenceLines", "groups", "pictures", "texts", "byPlace", "mostSurprising", "samples"}) {
    EXPECT_EQ(data["runs"][0]["result"]["test"][key], nlohmann::json::array()) << key;
  }
}

/// A run of a language model, with texts as bad as can be.
FakeRun run_with_tokens() {
  const std::string hostile = primal::tests::kHostileNames[0];
  FakeRun fake;
  nlohmann::json& test = fake.result["test"];
  test["tokens"] = 1234567.0;
  test["by_place"] = {{{"from", 0}, {"to", 3}, {"loss", 2 * std::numbers::ln2}}};
  test["most_surprising"] = {{{"texts", {hostile, "\n"}}, {"nll", {std::numbers::ln2, nullptr}}}};
  test["least_surprising"] = {{{"texts", {"of"}}, {"nll", {0.0}}}};
  test["samples"] = {{{"prompt", "Once"}, {"text", hostile}}};
  return fake;
}

TEST_F(ReportPage, HoldsTokensInBits) {
  const nlohmann::json data = data_of(report_page({load_run(run_with_tokens().write(folder))}));
  const auto& test = data["runs"][0]["result"]["test"];
  EXPECT_EQ(test["byPlace"], nlohmann::json({{{"from", 0}, {"to", 3}, {"bits", 2.0}}}));
  EXPECT_EQ(test["mostSurprising"][0]["texts"], nlohmann::json({primal::tests::kHostileNames[0], "\n"}));
  EXPECT_EQ(test["mostSurprising"][0]["bits"], nlohmann::json({1.0, nullptr}));
  EXPECT_EQ(test["leastSurprising"][0]["texts"], nlohmann::json({"of"}));
  EXPECT_EQ(test["samples"][0]["prompt"], "Once");
  EXPECT_EQ(test["also"], nlohmann::json({{"tokens", 1234567.0}})) << "a count keeps all its digits";
}

TEST_F(ReportPage, HostileTokensStayText) {
  const std::string page = report_page({load_run(run_with_tokens().write(folder))});
  EXPECT_EQ(page.find("<script>alert"), page.npos);
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
}

TEST_F(ReportPage, AsksForNothingFromOutside) {
  const std::string page = report_page({load_run(FakeRun().write(folder))});
  EXPECT_NE(page.find("default-src 'none'"), page.npos);
  EXPECT_EQ(page.find("unsafe-inline"), page.npos);
  EXPECT_EQ(count(page, "'sha256-"), primal::report::page_files().size() - 1) << "all but the template";
  EXPECT_TRUE(std::regex_search(page, std::regex("'sha256-[A-Za-z0-9+/]{43}='")));
  EXPECT_EQ(page.find("src=\"http"), page.npos);
  EXPECT_EQ(page.find("<link"), page.npos);
}

TEST_F(ReportPage, ComparesSeveralRuns) {
  FakeRun first, second;
  second.result["seed"] = 2;
  first.config += "[model]\nrank = 5\n";
  second.config += "[model]\nrank = 7\n";
  const auto runs = {load_run(first.write(folder / "a")), load_run(second.write(folder / "b"))};
  const nlohmann::json data = data_of(report_page(runs));
  EXPECT_EQ(data["comparison"]["groups"][0]["runs"], nlohmann::json({0}));
  EXPECT_EQ(data["comparison"]["groups"][1]["runs"], nlohmann::json({1}));
  EXPECT_EQ(data["comparison"]["differences"][0]["key"], "model.rank");
  EXPECT_EQ(data["runs"][1]["name"], "b");
}

TEST(ReportPageErrors, NeedsARun) {
  EXPECT_EQ(primal::tests::error_of([] { report_page({}); }), "report: expected at least one run directory, got none");
}

primal::report::SweepResults sweep() {
  primal::report::SweepResults results;
  results.title = "uea/<b>";
  results.keys = {{"model.rank", {"10", "20"}}};
  results.cells = {{{{"model.rank", "10"}}, 0.9, 0.01, 3, 60, "runs/a", true},
                   {{{"model.rank", "20"}}, 0.95, 0.02, 3, 61.25, "runs/b", true},
                   {{{"model.rank", "30"}}}};
  return results;
}

TEST(SweepPage, HoldsCellsAndTheBest) {
  const std::string page = primal::report::sweep_page(sweep());
  EXPECT_EQ(page.find("<b>"), page.npos);
  const nlohmann::json data = data_of(page);
  EXPECT_EQ(data["kind"], "sweep");
  EXPECT_EQ(data["best"], 1);
  EXPECT_TRUE(data["cells"][2]["score"].is_null());
}

TEST(SweepTable, AlignsItsColumnsAndMarksTheBest) {
  EXPECT_EQ(primal::report::sweep_table(sweep()),
            "  model.rank  test accuracy %    +-  seeds  seconds  run\n"
            "          10            90.00  1.00      3     60.0  runs/a\n"
            "*         20            95.00  2.00      3     61.2  runs/b\n"
            "          30                -     -      0        -  unfinished\n");
}

TEST(SweepTable, WritesR2AsItIs) {
  primal::report::SweepResults results = sweep();
  results.metric = primal::run::r2_metric();
  results.part = "validation";
  const std::string table = primal::report::sweep_table(results);
  EXPECT_EQ(table.substr(0, table.find('\n')), "  model.rank  validation R2     +-  seeds  seconds  run");
  EXPECT_NE(table.find("0.950  0.020"), table.npos);
}

TEST(SweepTable, AnEmptySweepHasNoBest) {
  primal::report::SweepResults results = sweep();
  results.cells.clear();
  EXPECT_EQ(primal::report::sweep_table(results).find('*'), std::string::npos);
  EXPECT_TRUE(data_of(primal::report::sweep_page(results))["best"].is_null());
}

}  // namespace
