// What runs have in common and where they differ.
#include "report/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using primal::run::parse_config;

TEST(Comparison, ListsTheSettingsThatDiffer) {
  std::vector<primal::run::Run> runs(2);
  runs[0].config = parse_config("[model]\nrank = 10\nwidth = 64\n");
  runs[1].config = parse_config("[model]\nrank = 20\nwidth = 64\n[loss]\neta = 1\n");
  const auto differences = primal::report::config_differences(runs);
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].key, "model.rank");
  EXPECT_EQ(differences[0].values, (std::vector<std::string>{"10", "20"}));
  EXPECT_EQ(differences[1].key, "loss.eta");
  EXPECT_EQ(differences[1].values, (std::vector<std::string>{"", "1"}));
}

TEST(Comparison, OldNamesOfStretchesAreNoDifference) {
  std::vector<primal::run::Run> runs(2);
  runs[0].config = parse_config("[train]\nepochs = 10\npatience = 1\n[schedule]\nwarmup_steps = 0\n");
  runs[1].config =
      parse_config("[train]\nlength = \"10 epochs\"\npatience = \"1 epoch\"\n[schedule]\nwarmup = \"0 steps\"\n");
  EXPECT_TRUE(primal::report::config_differences(runs).empty());
}

TEST(Comparison, ShortNamesAreAsLongAsNeeded) {
  std::vector<primal::run::Run> runs(2);
  runs[0].directory = "/runs/a/seed-1";
  runs[1].directory = "/runs/a/seed-2/";
  EXPECT_EQ(primal::report::short_names(runs), (std::vector<std::string>{"seed-1", "seed-2"}));
  runs[1].directory = "/runs/b/seed-1";
  EXPECT_EQ(primal::report::short_names(runs), (std::vector<std::string>{"a/seed-1", "b/seed-1"}));
  runs[1].directory = runs[0].directory;
  EXPECT_EQ(primal::report::short_names(runs).size(), 2u);
}

TEST(Comparison, SeedsAreSummedUpPerProtocol) {
  std::vector<primal::run::Run> runs(4);
  for (std::size_t i = 0; i < 3; ++i) {
    primal::run::Result result;
    result.test.emplace().score = 0.8 + 0.1 * static_cast<double>(i);
    result.protocol = i < 2 ? primal::run::Protocol::honest : primal::run::Protocol::paper;
    result.seed = static_cast<std::int64_t>(i);
    runs[i].result = result;
  }
  const auto groups = primal::report::groups_of(runs);  // the fourth is unfinished
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_NEAR(groups[0].score, 0.85, 1e-12);
  EXPECT_NEAR(groups[0].score_deviation, 0.1 / std::sqrt(2), 1e-12);
  EXPECT_TRUE(std::isnan(groups[1].score_deviation)) << "one seed has no deviation";
}

TEST(Comparison, OnlyRunsThatDifferInTheSeedAreSummedUp) {
  using primal::report::groups_of;
  std::vector<primal::run::Run> runs(2);
  for (std::size_t i = 0; i < 2; ++i) {
    runs[i].result.emplace();
    runs[i].result->test.emplace().score = 0.5;
    runs[i].result->seed = static_cast<std::int64_t>(i);
    const std::string seed = std::to_string(i);
    runs[i].config.settings = {
        {"train.seed", seed}, {"run.threads", seed}, {"train.checkpoint_steps", seed}, {"model.rank", "4"}};
  }
  EXPECT_EQ(groups_of(runs).size(), 1u);
  const auto changed = [&](const auto& change) {
    std::vector<primal::run::Run> others = runs;
    change(others[1]);
    return groups_of(others).size();
  };
  EXPECT_EQ(changed([](auto& run) { run.config.settings.back().value = "5"; }), 2u);
  EXPECT_EQ(changed([](auto& run) { run.config.settings.pop_back(); }), 1u) << "a run older than a setting";
  EXPECT_EQ(changed([](auto& run) { run.result->data = "other"; }), 2u);
  EXPECT_EQ(changed([](auto& run) { run.result->metric = primal::run::r2_metric(); }), 2u);
  EXPECT_EQ(changed([](auto& run) { run.result->seed = 0; }), 2u) << "the same seed twice is no mean over seeds";
  EXPECT_EQ(changed([](auto& run) { run.result->test.reset(); }), 1u) << "without TEST: in none";
}

}  // namespace
