#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cmath>

#include "support/errors.h"
#include "support/files.h"
#include "support/tensors.h"
#include "tasks/time_series/augment.h"
#include "tasks/time_series/problem.h"
#include "tasks/time_series/run.h"
#include "tasks/training.h"

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
    config.model.rank = 3;
    config.train.epochs = 2;
    config.run.threads = 1;
  }
  data::SearchPath search() const { return {{folder}}; }

  TimeSeriesConfig config;
};

TEST_F(TimeSeriesTest, TheHonestProtocolReadsNoTestBeforeTheEnd) {
  std::vector<std::string> reads;
  const SeriesData data(config, search());
  const TrainingData training = data.load_training(/*hold_out=*/true);
  EXPECT_EQ(training.train.cases(), 16);
  EXPECT_EQ(training.validation.cases(), 4);
  TimeSeriesProblem problem(config, training, [&](const SeriesFacts& facts) {
    reads.push_back("test");
    return data.load_test(facts);
  });
  problem.loss(*problem.inputs({0, 1, 2}));
  problem.evaluate(train::Part::validation);
  EXPECT_TRUE(reads.empty());
  problem.evaluate(train::Part::test);
  problem.evaluate(train::Part::test);
  EXPECT_EQ(reads.size(), 1u);
}

TEST_F(TimeSeriesTest, ThePaperProtocolReadsTestOnce) {
  config.run.protocol = Protocol::paper;
  const SeriesData data(config, search());
  const TrainingData training = data.load_training(/*hold_out=*/false);
  ASSERT_TRUE(training.test);
  EXPECT_EQ(training.test->values, data.load_test(training.facts).values);
  TimeSeriesProblem problem(config, training,
                            [](const SeriesFacts&) -> data::TimeSeriesSet { throw Error("TEST was read again"); });
  EXPECT_NO_THROW(problem.evaluate(train::Part::test));
}

TEST_F(TimeSeriesTest, ScalingComesFromTheTrainingPartAlone) {
  const SeriesData data(config, search());
  const TrainingData whole = data.load_training(false), part = data.load_training(true);
  EXPECT_NE(whole.facts.scaling, part.facts.scaling);
  double sum = 0;
  for (size_t i = 0; i < part.train.values.size(); i += 2) sum += part.train.values[i];
  EXPECT_NEAR(sum / static_cast<double>(part.train.values.size() / 2), 0, 1e-6);
}

TEST_F(TimeSeriesTest, FactsComeBackFromTheirFile) {
  const SeriesFacts facts = SeriesData(config, search()).load_training(true).facts;
  const SeriesFacts again = read_series_facts(write("data.json", to_text(facts)));
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
  const SeriesData data(config, search());
  const TrainingData training = data.load_training(true);
  const data::TimeSeriesSet test = data.load_test(training.facts);
  EXPECT_EQ(test.cases(), 4);
  EXPECT_EQ(training.train.cases() + training.validation.cases() + test.cases(), 20);
  for (const std::string& id : test.ids) {
    EXPECT_EQ(std::count(training.train.ids.begin(), training.train.ids.end(), id), 0);
    EXPECT_EQ(std::count(training.validation.ids.begin(), training.validation.ids.end(), id), 0);
  }
}

TEST_F(TimeSeriesTest, AugmentationKeepsEndsPaddingAndClass) {
  torch::manual_seed(1);
  const torch::Tensor line = torch::arange(10, torch::kFloat32).view({1, 10, 1}).repeat({3, 1, 1});
  const torch::Tensor lengths = torch::tensor({10, 6, 1});
  models::SeriesBatch batch{.x = line.clone(), .padding = padding_mask(lengths, 10)};
  batch.x.masked_fill_(batch.padding.unsqueeze(-1), 0);
  const torch::Tensor before = batch.x.clone();
  augment(batch, lengths, config);
  EXPECT_TRUE(tests::same(batch.x, before));  // nothing asked for

  config.augment.warp = 0.9;
  augment(batch, lengths, config);
  EXPECT_FALSE(tests::close(batch.x, before, 1e-3));
  EXPECT_NEAR(batch.x[0][0][0].item<float>(), 0, 1e-6);
  EXPECT_NEAR(batch.x[0][9][0].item<float>(), 9, 1e-5);
  EXPECT_NEAR(batch.x[1][5][0].item<float>(), 5, 1e-5);
  EXPECT_TRUE((batch.x[0].slice(0, 1) - batch.x[0].slice(0, 0, 9)).ge(-1e-5).all().item<bool>());  // time runs forward
  config.augment.noise = 0.1;
  config.augment.scale = 0.1;
  augment(batch, lengths, config);
  EXPECT_EQ(batch.x.masked_select(batch.padding.unsqueeze(-1)).abs().sum().item<float>(), 0);
}

TEST_F(TimeSeriesTest, LayersDecideTheName) {
  EXPECT_EQ(model_name(config), "PrimalFormer");
  config.model.layers = {"softmax", "primal"};
  EXPECT_EQ(model_name(config), "Primal.+");
  config.model.layers = {"softmax", "softmax"};
  EXPECT_EQ(model_name(config), "Transformer");
  config.model.layers = {"primal", "softmax"};
  EXPECT_EQ(model_name(config), "mixed");
}

TEST_F(TimeSeriesTest, ConfigurationsThatCannotWorkAreRefused) {
  check(config);
  config.model.heads = 3;
  EXPECT_EQ(error_of([&] { check(config); }), "model.width: 8 is not divisible by 3 heads");
  config.model.heads = 2;
  config.model.dropout = 1;
  EXPECT_EQ(error_of([&] { check(config); }), "model.dropout: expected at least 0 and below 1, got 1");
  config.model.dropout = 0;
  config.run.refit = true;
  config.run.protocol = Protocol::paper;
  EXPECT_TRUE(contains(error_of([&] { check(config); }), "run.refit"));
}

TEST(MeanDeviation, IsThatOfASample) {
  const MeanDeviation result = mean_deviation({1, 2, 3});
  EXPECT_DOUBLE_EQ(result.mean, 2);
  EXPECT_DOUBLE_EQ(result.deviation, 1);
  EXPECT_EQ(mean_deviation({0.5}).deviation, 0);
}

}  // namespace
}  // namespace primal::tasks
