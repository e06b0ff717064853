// Reading run directories: what is there, what is not yet, and what is broken.
#include <gtest/gtest.h>

#include <cmath>

#include "run/classification.h"
#include "run/run.h"
#include "support/errors.h"
#include "support/fake_run.h"
#include "support/files.h"

namespace {

using primal::run::load_run;
using primal::run::Metrics;
using primal::run::parse_metrics;
using primal::tests::error_of;
using primal::tests::FakeRun;

using LoadRun = primal::tests::FolderTest;

TEST_F(LoadRun, ReadsEveryFile) {
  const auto run = load_run(FakeRun().write(folder / "a"));
  EXPECT_EQ(run.name, "a");
  EXPECT_EQ(run.config.number("loss.eta"), 0.1);
  ASSERT_EQ(run.metrics.training.size(), 3u);
  EXPECT_EQ(run.metrics.training[2].step, 30);
  EXPECT_EQ(run.metrics.training[2].task_loss, 1.5);
  EXPECT_EQ(run.metrics.split("validation").size(), 3u);
  EXPECT_TRUE(run.metrics.split("test").empty());
  const auto result = run.result.value_or(primal::run::Result());
  EXPECT_EQ(primal::run::class_details(result.test.value()).value().classes, primal::tests::kHostileNames);
  EXPECT_TRUE(std::isnan(result.validation_score));
  ASSERT_EQ(run.spectra.layers.size(), 1u);
  EXPECT_EQ(run.spectra.layers[0].lambda[1][0], 0.6);
}

TEST_F(LoadRun, NameOfADirectoryWithTrailingSlash) {
  FakeRun().write(folder / "a");
  EXPECT_EQ(load_run((folder / "a/").string()).name, "a");
}

TEST_F(LoadRun, UnfinishedRunHasNoResult) {
  FakeRun fake;
  fake.result = nullptr;
  fake.analysis = nullptr;
  const auto run = load_run(fake.write(folder));
  EXPECT_FALSE(run.result);
  EXPECT_TRUE(run.spectra.layers.empty());
  EXPECT_EQ(run.metrics.training.size(), 3u);
}

TEST_F(LoadRun, RunThatHasJustBegunHasNoMetrics) {
  write("config.toml", "[run]\n");
  EXPECT_TRUE(load_run(folder).metrics.training.empty());
}

TEST_F(LoadRun, NamesWhatIsNoRun) {
  EXPECT_EQ(error_of([&] { load_run(folder / "none"); }), (folder / "none").string() + ": is not a directory");
  EXPECT_EQ(error_of([&] { load_run(folder); }), folder.string() + ": is not a run directory: it has no config.toml");
}

TEST_F(LoadRun, ErrorsNameFileAndField) {
  FakeRun fake;
  fake.result["test"]["confusion"] = {{1, 2}, {3, 4}};
  const std::string error = error_of([&] { load_run(fake.write(folder)); });
  EXPECT_EQ(error, (folder / "result.json").string() +
                       ": test: field \"confusion\": expected 3 x 3 numbers, as there are classes, got a side of 2");
}

TEST_F(LoadRun, LambdaMustFitTheRank) {
  FakeRun fake;
  fake.analysis["layers"][0]["rank"] = 4;
  const std::string error = error_of([&] { load_run(fake.write(folder)); });
  EXPECT_EQ(error, (folder / "analysis.json").string() +
                       ": layers[0]: field \"lambda\": expected 4 values per head, as the rank says, got 3");
}

TEST_F(LoadRun, TimeScalesOfLayersThatRemember) {
  FakeRun fake;
  EXPECT_TRUE(load_run(fake.write(folder)).spectra.time_scales.empty());
  fake.analysis["time_scales"] = {{{"layer", "layer 2"}, {"memory", "backward"}, {"tokens", {1.5, 30.0}}}};
  const auto scales = load_run(fake.write(folder)).spectra.time_scales;
  ASSERT_EQ(scales.size(), 1u);
  EXPECT_EQ(scales[0].layer, "layer 2");
  EXPECT_EQ(scales[0].memory, "backward");
  EXPECT_EQ(scales[0].tokens, (std::vector<double>{1.5, 30}));
  EXPECT_EQ(primal::run::to_json(load_run(folder).spectra)["time_scales"], fake.analysis["time_scales"]);
  fake.analysis["time_scales"][0].erase("memory");
  EXPECT_EQ(error_of([&] {
              load_run(fake.write(folder));
            }).rfind((folder / "analysis.json").string() + ": time_scales[0]", 0),
            0u);
}

TEST_F(LoadRun, ResultMayHaveNoBestEpoch) {
  FakeRun fake;
  fake.result["best_epoch"] = -1;
  const auto result = load_run(fake.write(folder)).result.value_or(primal::run::Result());
  EXPECT_EQ(result.epochs, 3);
  EXPECT_EQ(result.best_epoch, -1);
}

TEST(ParseMetrics, LeavesOutACutLastLine) {
  const std::string whole = FakeRun::epoch_line(1) + "\n";
  const std::string next = FakeRun::epoch_line(2);
  EXPECT_EQ(parse_metrics(whole + next.substr(0, next.size() / 2), "m").training.size(), 1u);
  EXPECT_EQ(parse_metrics(whole + next, "m").training.size(), 2u) << "complete, only its line feed is missing";
  EXPECT_EQ(parse_metrics(whole, "m").training.size(), 1u);
  EXPECT_TRUE(parse_metrics("", "m").training.empty());
}

TEST(ParseMetrics, AnyOtherBadLineIsAnErrorWithItsNumber) {
  const std::string good = FakeRun::epoch_line(1) + "\n";
  const auto error = [&](const std::string& line) {
    return error_of([&] { parse_metrics(good + "\n" + line + "\n" + good, "runs/a/metrics.jsonl"); });
  };
  EXPECT_EQ(error("{\"kind\"").find("runs/a/metrics.jsonl:3: not valid JSON: "), 0u);
  EXPECT_EQ(error("{\"kind\"").find('\n'), std::string::npos);
  EXPECT_EQ(error("7"), "runs/a/metrics.jsonl:3: expected an object, got 7");
  EXPECT_EQ(error("{}"), "runs/a/metrics.jsonl:3: field \"kind\": is missing");
  EXPECT_EQ(error("{\"kind\":\"epoch\",\"epoch\":-1}"),
            "runs/a/metrics.jsonl:3: field \"epoch\": expected a number from 0, got -1.000000");
  EXPECT_EQ(error("{\"kind\":\"epoch\",\"epoch\":1,\"step\":1,\"loss\":\"x\"}"),
            "runs/a/metrics.jsonl:3: field \"loss\": expected a number, got a value of kind string");
  EXPECT_EQ(error("{\"kind\":\"evaluation\",\"split\":\"x\"}"),
            "runs/a/metrics.jsonl:3: field \"split\": expected \"validation\" or \"test\"");
}

TEST(ParseMetrics, NullIsNotANumberAndUnknownKindsAreLeftOut) {
  const Metrics metrics = parse_metrics(
      "{\"kind\":\"epoch\",\"epoch\":1,\"step\":1,\"loss\":null,\"task_loss\":null}\n{\"kind\":\"later\"}\n", "m");
  ASSERT_EQ(metrics.training.size(), 1u);
  EXPECT_TRUE(std::isnan(metrics.training[0].task_loss));
  EXPECT_TRUE(std::isnan(metrics.training[0].score));
}

TEST(ParseMetrics, RepeatedStepsOfAResumedRunHoldTheLaterLine) {
  std::string text;
  for (int epoch : {1, 2, 3, 2}) {
    text += FakeRun::epoch_line(epoch, epoch == 2 ? 0.5 : 1.5) + "\n" + FakeRun::evaluation_line(epoch) + "\n";
  }
  text += FakeRun::evaluation_line(1, "test") + "\n";  // the one of the best epoch, at the end
  const Metrics metrics = parse_metrics(text, "m");
  ASSERT_EQ(metrics.training.size(), 2u);
  EXPECT_EQ(metrics.training[1].epoch, 2);
  EXPECT_EQ(metrics.split("validation").size(), 2u);
  EXPECT_EQ(metrics.split("test").size(), 1u);
}

}  // namespace
