#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "run/classification.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/tensors.h"
#include "tasks/time_series/augment.h"
#include "tasks/time_series/batches.h"
#include "tasks/time_series/task.h"

namespace primal::tasks {
namespace {

using tests::contains;
using tests::error_of;

constexpr const char* kHead =
    "@problemName T\n@univariate false\n@dimensions 2\n@equalLength false\n@classLabel true a b\n@data\n";

// Classes differ in the sign of the first channel.
std::string ts_file(int cases, int seed) {
  std::string text = kHead;
  for (int i = 0; i < cases; ++i) {
    const int length = 4 + (i * 7 + seed) % 5;
    const double sign = i % 2 == 0 ? 1 : -1;
    std::string first, second;
    for (int t = 0; t < length; ++t) {
      first += (t ? "," : "") + std::to_string(sign + 0.3 * std::sin(i + t + seed));
      second += (t ? "," : "") + std::to_string(std::cos(3 * i + t));
    }
    text += first + ":" + second + (i % 2 == 0 ? ":a\n" : ":b\n");
  }
  return text;
}

class TimeSeriesTest : public tests::FolderTest {
 protected:
  TimeSeriesTest() {
    write("T/T_TRAIN.ts", ts_file(20, 1));
    write("T/T_TEST.ts", ts_file(10, 2));
    config.data.set = "T";
    config.model.width = 8;
    config.model.heads = 2;
    config.model.feed_forward = 16;
    config.model.rank = {3};
    config.train.length = base::epochs(2);
    config.run.threads = 1;
  }
  data::SearchPath search() const { return {{folder}}; }

  TimeSeriesConfig config;
};

TEST_F(TimeSeriesTest, EveryFileIsReadOnceAtTheStart) {
  TimeSeriesTask task(config, {.search = search()});
  EXPECT_EQ(task.examples(), 16);
  std::filesystem::remove_all(folder / "T");
  task.loss(*task.batch({0, 1, 2}, base::Random(1)));
  task.evaluate(Part::validation);
  EXPECT_NO_THROW(task.evaluate(Part::test));
}

TEST_F(TimeSeriesTest, ARunThatEvaluatesNoTestDoesNotReadIt) {
  config.run.test = false;
  write("T/T_TEST.ts", "damaged");
  EXPECT_TRUE(TimeSeriesTask(config, {.search = search()}).facts()["test_fingerprint"].is_null());
  config.run.test = true;
  EXPECT_ANY_THROW(TimeSeriesTask(config, {.search = search()}));
}

TEST_F(TimeSeriesTest, ThePaperProtocolReadsTestOnce) {
  config.run.protocol = Protocol::paper;
  TimeSeriesTask task(config, {.search = search(), .hold_out = false});
  std::filesystem::remove(folder / "T/T_TEST.ts");
  EXPECT_NO_THROW(task.evaluate(Part::test));
  EXPECT_TRUE(task.facts().contains("test_fingerprint"));
}

TEST_F(TimeSeriesTest, ATrainedTaskNeedsNoDataOfItsOwnForAFile) {
  const TimeSeriesTask trained(config, {.search = search()});
  const auto facts = write("run/data.json", trained.facts().dump());
  std::filesystem::rename(folder / "T/T_TEST.ts", folder / "other.ts");
  std::filesystem::remove(folder / "T/T_TRAIN.ts");
  TimeSeriesTask task(config, {.search = search(), .facts = facts});
  EXPECT_EQ(run::class_details(task.evaluate_file(folder / "other.ts"))->classes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(task.describe({.file = folder / "other.ts"}), (folder / "other.ts").string() + ", 10 series");
  EXPECT_TRUE(contains(error_of([&] { task.evaluate(Part::test); }), "T_TEST.ts"));
}

TEST_F(TimeSeriesTest, ABatchIsTheSameWheneverItIsMade) {
  config.augment = {.noise = 0.1, .scale = 0.2, .warp = 0.5};
  TimeSeriesTask task(config, {.search = search()});
  const auto loss_of = [&](uint64_t seed) {
    torch::manual_seed(3);  // of the dropout
    return task.loss(*task.batch({0, 1, 2, 3}, base::Random(seed))).task;
  };
  const double first = loss_of(1);
  EXPECT_NE(loss_of(2), first);
  EXPECT_EQ(loss_of(1), first);
}

TEST_F(TimeSeriesTest, ClassWeightsBalanceTheLoss) {
  const std::vector<int64_t> labels = {0, 0, 0, 1};
  EXPECT_FALSE(class_weights({}, labels, 2).defined());
  EXPECT_TRUE(tests::close(class_weights({.word = "balanced"}, labels, 2), torch::tensor({4.0 / 6, 2.0}), 1e-6));
  EXPECT_TRUE(tests::close(class_weights({"", {1, 3}}, labels, 2), torch::tensor({4.0 / 6, 2.0}), 1e-6))
      << "only the ratios count";
  EXPECT_EQ(error_of([&] {
              class_weights({"", {1, 2, 3}}, labels, 2);
            }),
            "loss.class_weights: expected 2 numbers, as there are classes, got 3");
  EXPECT_EQ(error_of([&] {
              class_weights({"", {1, -2}}, labels, 2);
            }),
            "loss.class_weights: expected numbers from 0, got -2");
  EXPECT_TRUE(contains(error_of([&] { class_weights({"", {0, 0}}, labels, 2); }), "above 0, got none"));
}

// Two batches, weighed by their examples, give the gradient of one.
TEST_F(TimeSeriesTest, WeightedLossesOfBatchesAddUp) {
  config.loss.class_weights = {"", {1, 5}};
  config.model.dropout = 0;
  TimeSeriesTask task(config, {.search = search()});
  const auto loss_of = [&](std::vector<int64_t> examples) {
    return task.loss(*task.batch(std::move(examples), base::Random(1))).task;
  };
  EXPECT_NEAR((loss_of({0, 1, 2}) * 3 + loss_of({3}) * 1) / 4, loss_of({0, 1, 2, 3}), 1e-5);
}

TEST_F(TimeSeriesTest, ScalingComesFromTheTrainingPartAlone) {
  SeriesData data(config, search());
  const TrainingData whole = data.load_training(false), part = data.load_training(true);
  EXPECT_NE(whole.facts.scaling, part.facts.scaling);
  double sum = 0;
  for (size_t i = 0; i < part.train.values.size(); i += 2) sum += part.train.values[i];
  EXPECT_NEAR(sum / static_cast<double>(part.train.values.size() / 2), 0, 1e-6);
}

TEST_F(TimeSeriesTest, FactsComeBackFromTheirFile) {
  const SeriesFacts facts = SeriesData(config, search()).load_training(true).facts;
  const SeriesFacts again = read_series_facts(write("data.json", to_json(facts).dump()));
  EXPECT_EQ(again.scaling, facts.scaling);
  EXPECT_EQ(again.classes, facts.classes);
  EXPECT_EQ(again.tokens, facts.tokens);
}

TEST_F(TimeSeriesTest, LabelsFollowTheOrderOfTheTrainingClasses) {
  SeriesFacts facts = SeriesData(config, search()).load_training(false).facts;
  facts.classes = {"b", "a"};
  const data::TimeSeriesSet test = SeriesData(config, search()).load_test(facts);
  EXPECT_EQ(test.labels[0], 1);  // the first case is an a
  facts.classes = {"b"};
  EXPECT_TRUE(contains(error_of([&] { SeriesData(config, search()).load_test(facts); }),
                       "class \"a\" does not occur in the training series"));
  facts.channels = 5;
  EXPECT_TRUE(contains(error_of([&] { SeriesData(config, search()).load_test(facts); }),
                       "the series have 2 channels, the training series 5"));
}

TEST_F(TimeSeriesTest, ABatchPadsWithZerosAndCutsWhatIsLonger) {
  const data::TimeSeriesSet train = SeriesData(config, search()).load_training(false).train;
  const std::vector<int64_t> cases = {0, 1};
  const int64_t length = std::max(train.length(0), train.length(1));
  const models::SeriesBatch tight = batch_of(train, cases, 100, false), full = batch_of(train, cases, 100, true);
  EXPECT_EQ(tight.x.size(1), length);
  EXPECT_EQ(full.x.size(1), 100);
  EXPECT_EQ(full.x.narrow(1, length, 100 - length).abs().max().item<float>(), 0);
  EXPECT_EQ(full.padding.logical_not().sum(1)[0].item<int64_t>(), train.length(0));
  EXPECT_EQ(full.x[0][1][1].item<float>(), train.series(0)[3]);
  const models::SeriesBatch cut = batch_of(train, cases, 3, true);
  EXPECT_EQ(cut.x.size(1), 3);
  EXPECT_FALSE(cut.padding.any().item<bool>());
}

TEST_F(TimeSeriesTest, AShareOfTrainServesAsTestWhenThereIsNone) {
  config.data.train = (folder / "T/T_TRAIN.ts").string();
  SeriesData data(config, search());
  const TrainingData training = data.load_training(true);
  const data::TimeSeriesSet test = data.load_test(training.facts);
  EXPECT_EQ(test.cases(), 4);
  EXPECT_EQ(test.ids, training.test->ids);
  EXPECT_EQ(test.values, training.test->values);
  EXPECT_EQ(training.train.cases() + training.validation.cases() + test.cases(), 20);
  for (const std::string& id : test.ids) {
    EXPECT_EQ(std::count(training.train.ids.begin(), training.train.ids.end(), id), 0);
    EXPECT_EQ(std::count(training.validation.ids.begin(), training.validation.ids.end(), id), 0);
  }
}

// Files may change while a run trains.
TEST_F(TimeSeriesTest, ARefitHasTheSeriesThatWereReadForTheRun) {
  config.data.train = (folder / "T/T_TRAIN.ts").string();
  config.run.refit = true;
  TimeSeriesTask task(config, {.search = search(), .hold_out = true});
  std::filesystem::remove(config.data.train);
  const std::unique_ptr<Task> whole = task.whole();
  EXPECT_EQ(task.examples(), 13);
  EXPECT_EQ(whole->examples(), 16);  // TEST stays out
  EXPECT_EQ(whole->facts()["fingerprint"], task.facts()["fingerprint"]);
  EXPECT_GT(whole->evaluate(Part::test).score, -1);
}

TEST_F(TimeSeriesTest, AugmentationKeepsEndsPaddingAndClass) {
  const torch::Tensor line = torch::arange(10, torch::kFloat32).view({1, 10, 1}).repeat({3, 1, 1});
  const torch::Tensor lengths = torch::tensor({10, 6, 1});
  models::SeriesBatch batch{.x = line.clone(), .padding = padding_mask(lengths, 10)};
  batch.x.masked_fill_(batch.padding.unsqueeze(-1), 0);
  const torch::Tensor before = batch.x.clone();
  augment(batch, lengths, config.augment, base::Random(7));
  EXPECT_TRUE(tests::same(batch.x, before));  // nothing asked for

  config.augment.warp = 0.9;
  augment(batch, lengths, config.augment, base::Random(7));
  EXPECT_FALSE(tests::close(batch.x, before, 1e-3));
  EXPECT_NEAR(batch.x[0][0][0].item<float>(), 0, 1e-6);
  EXPECT_NEAR(batch.x[0][9][0].item<float>(), 9, 1e-5);
  EXPECT_NEAR(batch.x[1][5][0].item<float>(), 5, 1e-5);
  EXPECT_TRUE((batch.x[0].slice(0, 1) - batch.x[0].slice(0, 0, 9)).ge(-1e-5).all().item<bool>());  // time runs forward
  config.augment.noise = 0.1;
  config.augment.scale = 0.1;
  augment(batch, lengths, config.augment, base::Random(7));
  EXPECT_EQ(batch.x.masked_select(batch.padding.unsqueeze(-1)).abs().sum().item<float>(), 0);
}

TEST_F(TimeSeriesTest, LayersDecideTheName) {
  EXPECT_EQ(config.model_name(), "PrimalFormer");
  config.model.layers = {"softmax", "primal"};
  EXPECT_EQ(config.model_name(), "Primal.+");
  config.model.layers = {"softmax", "softmax"};
  EXPECT_EQ(config.model_name(), "Transformer");
  config.model.layers = {"primal", "softmax"};
  EXPECT_EQ(config.model_name(), "mixed");
}

TEST_F(TimeSeriesTest, ConfigurationsThatCannotWorkAreRefused) {
  config.check();
  config.model.heads = 3;
  EXPECT_EQ(error_of([&] { config.check(); }), "model.width: 8 is not divisible by 3 heads");
  config.model.heads = 2;
  config.model.dropout = 1;
  EXPECT_EQ(error_of([&] { config.check(); }), "model.dropout: expected less than 1, got 1");
  config.model.dropout = 0;
  config.run.refit = true;
  config.run.protocol = Protocol::paper;
  EXPECT_TRUE(contains(error_of([&] { config.check(); }), "run.refit"));
}

}  // namespace
}  // namespace primal::tasks
