#include "train/trainer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/tensors.h"
#include "train/autocast.h"
#include "train/checkpoint.h"

namespace primal::train {
namespace {

using tests::contains;
using tests::error_of;

// Two blobs and a linear model with dropout, so that the random generator matters.
class Blobs : public Problem {
 public:
  explicit Blobs(int64_t count = 20) {
    torch::manual_seed(1);
    model_ = torch::nn::Linear(4, 2);
    labels_ = torch::arange(count).remainder(2);
    x_ = torch::randn({count, 4}) + 2 * labels_.unsqueeze(1);
  }

  torch::nn::Module& model() override { return *model_; }
  const Metric& metric() const override { return metric_; }
  int64_t examples() const override { return x_.size(0); }

  std::unique_ptr<Batch> batch(std::vector<int64_t> numbers, base::Random random) const override {
    auto result = std::make_unique<Drawn>(std::move(numbers));
    result->chance = random.uniform();
    if (weight) result->weight = weight(result->examples);
    return result;
  }

  BatchLoss loss(Batch& batch) override {
    losses.push_back(batch.examples);
    chances.push_back(static_cast<Drawn&>(batch).chance);
    weights.push_back(model_->weight.detach().clone());
    if (std::ssize(losses) == raise_at) std::raise(SIGINT);
    const torch::Tensor chosen = torch::tensor(losses.back());
    const torch::Tensor labels = labels_.index_select(0, chosen);
    const torch::Tensor logits = model_(at::dropout(x_.index_select(0, chosen), dropout, model_->is_training()));
    const torch::Tensor task = at::cross_entropy_loss(logits, labels) * scale;
    return {.total = task,
            .task = task.item<double>(),
            .ksvd = 0,
            .objective = {0.5},
            .score = has_score ? std::optional(logits.argmax(1).eq(labels).sum().item<double>()) : std::nullopt,
            .tokens = std::ssize(batch.examples)};
  }

  Evaluation evaluate(Part part) override {
    evaluated.push_back(part);
    evaluated_weights.push_back(model_->weight.detach().clone());
    Evaluation evaluation{.score = 0, .loss = evaluation_loss};
    const size_t i = evaluated.size() - 1;
    evaluation.score = i < accuracies.size() ? accuracies[i] : 0;
    return evaluation;
  }

  bool decays(std::string_view parameter, const torch::Tensor& value) const override {
    return decays_all || Problem::decays(parameter, value);
  }

  struct Drawn : Batch {
    using Batch::Batch;
    double chance = 0;
  };

  torch::nn::Linear model_{nullptr};
  torch::Tensor x_, labels_;
  Metric metric_ = run::accuracy_metric();
  bool has_score = true, decays_all = false;
  std::optional<double> evaluation_loss = 1;
  std::function<int64_t(const std::vector<int64_t>&)> weight;  // of a batch, if not its examples
  std::vector<double> chances;                                 // drawn for each batch
  double dropout = 0.3, scale = 1;
  int64_t raise_at = -1;
  std::vector<std::vector<int64_t>> losses;  // the batches asked for
  std::vector<torch::Tensor> weights;        // when they were asked for
  std::vector<Part> evaluated;
  std::vector<torch::Tensor> evaluated_weights;
  std::vector<double> accuracies;  // what evaluations give, in turn
};

class TrainerTest : public tests::FolderTest {
 protected:
  TrainerTest() {
    options.length = base::epochs(4);
    options.batch = 6;
    plan.evaluations = EvaluationTimes{};
    optimizer.lr = 0.05;
    sink = std::fopen("/dev/null", "w");
  }
  ~TrainerTest() override { std::fclose(sink); }

  Outcome train(Blobs& problem, const std::string& name, bool restore = false) {
    const auto path = folder / name;
    run::RunDirectory run = std::filesystem::exists(path / "config.toml") ? run::RunDirectory::resume(path)
                                                                          : run::RunDirectory::create(path, "");
    base::Progress progress({.stream = sink});
    Trainer trainer(problem, options, optimizer, schedule, plan, run, progress);
    const Outcome outcome = trainer.run();
    if (restore) trainer.restore_best();
    return outcome;
  }

  // metrics.jsonl without what a clock says.
  std::vector<nlohmann::json> metrics(const std::string& name) const {
    std::vector<nlohmann::json> lines;
    std::ifstream file(folder / name / "metrics.jsonl");
    for (std::string line; std::getline(file, line);) {
      lines.push_back(nlohmann::json::parse(line));
      lines.back().erase("seconds");
      lines.back().erase("tokens_per_second");
    }
    return lines;
  }

  TrainOptions options;
  TrainPlan plan;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  std::FILE* sink = nullptr;
};

TEST_F(TrainerTest, OverfitsOneBatch) {
  Blobs problem(6);
  problem.dropout = 0;
  options.length = base::epochs(200);
  train(problem, "a");
  const auto lines = metrics("a");
  double last = 1e9, accuracy = 0;
  for (const auto& line : lines) {
    if (line["kind"] == "train") last = line["loss"], accuracy = line["accuracy"];
  }
  EXPECT_LT(last, 0.05);
  EXPECT_EQ(accuracy, 1.0);
}

TEST_F(TrainerTest, EveryEpochSeesEveryExampleOnce) {
  Blobs problem;
  train(problem, "a");
  ASSERT_EQ(problem.losses.size(), 4u * 4u);  // 20 examples in batches of 6: 6 6 6 2
  for (size_t epoch = 0; epoch < 4; ++epoch) {
    std::vector<int64_t> seen;
    for (size_t b = 0; b < 4; ++b) {
      const auto& batch = problem.losses[4 * epoch + b];
      EXPECT_EQ(batch.size(), b < 3 ? 6u : 2u);
      seen.insert(seen.end(), batch.begin(), batch.end());
    }
    std::sort(seen.begin(), seen.end());
    for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  }
}

TEST_F(TrainerTest, TheSameSeedGivesTheSameBits) {
  Blobs a;
  train(a, "a");
  Blobs b;
  train(b, "b");
  EXPECT_TRUE(tests::same(a.model_->weight.detach(), b.model_->weight.detach()));
  EXPECT_EQ(metrics("a"), metrics("b"));
}

TEST_F(TrainerTest, AnInterruptedRunGoesOnToTheSameBits) {
  options.average = 0.9;
  Blobs whole;
  train(whole, "whole");
  for (const int64_t instant : {1, 3, 4, 6, 15}) {  // batches; 4 is the end of an epoch
    const std::string name = "cut-" + std::to_string(instant);
    Blobs first;
    first.raise_at = instant;
    EXPECT_TRUE(train(first, name).interrupted) << instant;
    Blobs second;
    torch::manual_seed(99);  // the checkpoint brings the state of the generator
    EXPECT_FALSE(train(second, name).interrupted);
    EXPECT_TRUE(tests::same(second.model_->weight.detach(), whole.model_->weight.detach())) << instant;
    EXPECT_EQ(metrics(name), metrics("whole")) << instant;
    EXPECT_EQ(first.losses.size() + second.losses.size(), whole.losses.size());
  }
}

TEST_F(TrainerTest, AfterACrashTheLastCheckpointIsTaken) {
  options.checkpoint_steps = 5;
  Blobs whole;
  train(whole, "whole");
  // A crash after step 13: checkpoints 5 and 10, metrics up to epoch 3, nothing else.
  std::filesystem::copy(folder / "whole", folder / "crashed", std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(folder / "crashed" / "checkpoints" / "step-16");
  Blobs again;
  train(again, "crashed");
  EXPECT_EQ(again.losses.size(), 1u);  // from step 15
  EXPECT_EQ(metrics("crashed"), metrics("whole"));
  EXPECT_TRUE(tests::same(again.model_->weight.detach(), whole.model_->weight.detach()));
}

TEST_F(TrainerTest, AFinishedRunHasNothingToDo) {
  Blobs problem, again;
  const Outcome outcome = train(problem, "a");
  const Outcome second = train(again, "a");
  EXPECT_TRUE(again.losses.empty());
  EXPECT_EQ(second.epochs, outcome.epochs);
  EXPECT_EQ(second.best.step, outcome.best.step);
  EXPECT_TRUE(tests::same(problem.model_->weight.detach(), again.model_->weight.detach()));
}

TEST_F(TrainerTest, KeepsTheBestEpochAndRestoresIt) {
  Blobs problem;
  problem.accuracies = {0.2, 0.9, 0.9, 0.5};
  plan.selection = Part::test;
  const Outcome outcome = train(problem, "a", /*restore=*/true);
  EXPECT_EQ(outcome.best_epoch, 2);
  EXPECT_EQ(outcome.best.step, 8);
  EXPECT_EQ(outcome.best.evaluation.score, 0.9);
  EXPECT_EQ(problem.evaluated, std::vector<Part>(4, Part::test));
  plan.last_step = 8;
  Blobs two_epochs;
  train(two_epochs, "b");
  EXPECT_TRUE(tests::same(problem.model_->weight.detach(), two_epochs.model_->weight.detach()));
}

TEST_F(TrainerTest, TheAverageOfTheWeightsIsWhatIsEvaluatedAndKept) {
  Blobs plain;
  train(plain, "plain");
  plain.weights.push_back(plain.model_->weight.detach());
  // Decay 0.5 is above (1 + step) / (10 + step) up to step 7.
  options.average = 0.5;
  Blobs averaged;
  averaged.accuracies = {0.2, 0.9, 0.9, 0.5};
  train(averaged, "averaged");
  torch::Tensor expected = plain.weights[0].to(torch::kDouble);
  for (int step = 1; step <= 16; ++step) {
    const double decay = std::min(0.5, (1.0 + step) / (10.0 + step));
    expected = decay * expected + (1 - decay) * plain.weights[step];
    // Training itself is the same.
    if (step < 16) {
      EXPECT_TRUE(tests::same(averaged.weights[step], plain.weights[step])) << step;
    }
    if (step % 4 != 0) continue;
    EXPECT_TRUE(tests::close(averaged.evaluated_weights[step / 4 - 1].to(torch::kDouble), expected, 1e-6)) << step;
  }
  EXPECT_TRUE(tests::same(averaged.model_->weight.detach(), averaged.evaluated_weights.back()));
  const Tensors best = load_checkpoint(folder / "averaged" / "best").model;
  EXPECT_TRUE(tests::same(best.at("weight"), averaged.evaluated_weights[1]));
}

TEST_F(TrainerTest, ACheckpointWithoutItsAverageIsNamed) {
  Blobs plain, averaged;
  train(plain, "a");
  options.average = 0.9;
  const std::string message = error_of([&] { train(averaged, "a"); });
  EXPECT_TRUE(contains(message, "step-16/optimizer.safetensors: tensor average.weight is missing")) << message;
}

TEST_F(TrainerTest, WeightsOfAnotherEpochThanTheChosenOneAreNotTaken) {
  options.checkpoint_steps = 8;  // epoch 2 of 4
  Blobs problem, again;
  problem.accuracies = {0.2, 0.3, 0.9};
  train(problem, "a");
  std::filesystem::remove_all(folder / "a" / "checkpoints" / "step-16");
  plan.last_step = 8;
  const std::string message = error_of([&] { train(again, "a", /*restore=*/true); });
  EXPECT_TRUE(contains(message, "a/best: has the weights of step 12, but step 8 was chosen")) << message;
}

TEST_F(TrainerTest, AShortenedRunKeepsTheEpochItEndsWith) {
  options.checkpoint_steps = 8;
  options.keep = Keep::last;
  plan.evaluations = EvaluationTimes{.every = base::epochs(4), .also = {base::epochs(1)}};
  Blobs problem, again;
  train(problem, "a");
  std::filesystem::remove_all(folder / "a" / "checkpoints" / "step-16");
  plan.last_step = 8;
  EXPECT_EQ(train(again, "a", /*restore=*/true).best.step, 8);
  EXPECT_EQ(again.evaluated_weights.size(), 1u);
}

TEST_F(TrainerTest, KeepsTheLastEpochIfAskedTo) {
  Blobs problem;
  problem.accuracies = {0.2, 0.9, 0.9, 0.5};
  options.keep = Keep::last;
  const Outcome outcome = train(problem, "a", /*restore=*/true);
  EXPECT_EQ(outcome.best.step, 16);
  EXPECT_EQ(outcome.best.evaluation.score, 0.5);
  EXPECT_TRUE(tests::same(problem.model_->weight.detach(), problem.evaluated_weights.back()));
}

TEST_F(TrainerTest, StopsWhenPatienceIsOver) {
  Blobs problem;
  problem.accuracies = {0.5, 0.9, 0.1, 0.2, 0.3, 0.4};
  options.length = base::epochs(50);
  options.patience = base::epochs(3);
  EXPECT_EQ(train(problem, "a").epochs, 5);
}

TEST_F(TrainerTest, AccumulatedBatchesActAsOneLargeBatch) {
  Blobs small, large;
  small.dropout = large.dropout = 0;
  options.batch = 6;
  options.accumulate = 3;  // 18 + 2
  train(small, "small");
  options.batch = 18;
  options.accumulate = 1;
  train(large, "large");
  EXPECT_TRUE(tests::close(small.model_->weight.detach(), large.model_->weight.detach(), 1e-6));
}

TEST_F(TrainerTest, ClippingBoundsTheFirstStep) {
  Blobs problem;
  problem.scale = 1000;
  optimizer = {.kind = OptimizerKind::sgd, .lr = 1, .momentum = 0};
  options.clip = 0.01;
  options.batch = 20;
  options.length = base::epochs(1);
  const torch::Tensor weight = problem.model_->weight.detach().clone(), bias = problem.model_->bias.detach().clone();
  train(problem, "a");
  const torch::Tensor moved =
      at::cat({(problem.model_->weight.detach() - weight).flatten(), problem.model_->bias.detach() - bias});
  EXPECT_NEAR(moved.norm().item<double>(), 0.01, 1e-6);
}

TEST_F(TrainerTest, ALossThatIsNotFiniteStopsTheRun) {
  Blobs problem;
  problem.scale = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(contains(error_of<base::Failure>([&] { train(problem, "a"); }), "the loss became infinite at step 1"));
}

TEST_F(TrainerTest, ADamagedCheckpointIsNamed) {
  Blobs problem;
  train(problem, "a");
  const auto checkpoint = *latest_checkpoint(folder / "a" / "checkpoints");
  std::ofstream(checkpoint / "state.json") << "{\"epoch\": 1";
  Blobs again;
  EXPECT_TRUE(error_of([&] { train(again, "a"); }).starts_with((checkpoint / "state.json").string()));
}

TEST_F(TrainerTest, LengthsAreSpansOfStepsOrEpochs) {
  options.length = base::steps(7);  // in the second pass of 4 steps
  plan.evaluations = EvaluationTimes{.every = base::steps(3)};
  Blobs problem;
  const Outcome outcome = train(problem, "a");
  EXPECT_EQ(outcome.steps, 7);
  EXPECT_DOUBLE_EQ(outcome.epochs, 1.9);  // 20 + 18 of 20 examples
  std::vector<int64_t> training, evaluations;
  for (const auto& line : metrics("a")) {
    if (line["kind"] == "train") training.push_back(line["step"]);
    if (line["kind"] == "evaluation") evaluations.push_back(line["step"]);
  }
  EXPECT_EQ(training, (std::vector<int64_t>{3, 4, 6, 7})) << "at evaluations, ends of passes, and the end";
  EXPECT_EQ(evaluations, (std::vector<int64_t>{3, 6, 7}));
}

TEST_F(TrainerTest, ARecordCoversTheStepsSinceTheLastOne) {
  options.length = base::steps(5);
  options.passes = Passes::endless;
  options.record = base::steps(2);
  plan.evaluations.reset();
  Blobs problem;
  problem.dropout = 0;
  optimizer.lr = 0;  // the loss of a batch depends on the batch alone
  train(problem, "a");
  std::vector<double> losses;
  for (const auto& batch : problem.losses) {
    const torch::Tensor chosen = torch::tensor(batch);
    losses.push_back(at::cross_entropy_loss(problem.model_(problem.x_.index_select(0, chosen)),
                                            problem.labels_.index_select(0, chosen))
                         .item<double>());
  }
  std::vector<double> records;
  for (const auto& line : metrics("a")) {
    if (line["kind"] == "train") records.push_back(line["loss"]);
  }
  ASSERT_EQ(records.size(), 3u);
  EXPECT_NEAR(records[0], (losses[0] + losses[1]) / 2, 1e-6);
  EXPECT_NEAR(records[2], losses[4], 1e-6);
}

TEST_F(TrainerTest, EndlessPassesGoOnToTheSameBits) {
  options.passes = Passes::endless;
  options.length = base::steps(11);
  plan.evaluations = EvaluationTimes{.every = base::steps(4)};
  Blobs whole;
  train(whole, "whole");
  for (const auto& batch : whole.losses) EXPECT_EQ(batch.size(), 6u);
  for (const int64_t instant : {2, 4, 9}) {
    Blobs first, second;
    first.raise_at = instant;
    const std::string name = "cut-" + std::to_string(instant);
    EXPECT_TRUE(train(first, name).interrupted);
    EXPECT_FALSE(train(second, name).interrupted);
    EXPECT_TRUE(tests::same(second.model_->weight.detach(), whole.model_->weight.detach())) << instant;
    EXPECT_EQ(metrics(name), metrics("whole")) << instant;
    first.chances.insert(first.chances.end(), second.chances.begin(), second.chances.end());
    EXPECT_EQ(first.chances, whole.chances) << "what is drawn for a batch depends on its number";
  }
}

TEST_F(TrainerTest, LessIsBetterIfTheMetricSaysSo) {
  Blobs problem;
  problem.metric_ = {.key = "perplexity", .name = "perplexity", .lower_is_better = true};
  problem.accuracies = {40, 31, 35, 33};
  options.patience = base::epochs(2);
  const Outcome outcome = train(problem, "a", /*restore=*/true);
  EXPECT_EQ(outcome.best_epoch, 2);
  EXPECT_EQ(outcome.best.evaluation.score, 31);
  EXPECT_EQ(outcome.epochs, 4) << "two epochs without a better one";
  EXPECT_EQ(metrics("a")[0]["key"], "perplexity");
}

TEST_F(TrainerTest, AnEvaluationMayHaveNoLossAndABatchNoScore) {
  Blobs problem;
  problem.evaluation_loss.reset();
  problem.has_score = false;
  problem.accuracies = {0.2, 0.9, 0.9, 0.5};
  EXPECT_EQ(train(problem, "a").best_epoch, 2);
  for (const auto& line : metrics("a")) {
    if (line["kind"] == "train") {
      EXPECT_TRUE(line["accuracy"].is_null());
    } else if (line["kind"] == "evaluation") {
      EXPECT_TRUE(line["loss"].is_null());
    }
  }
  Blobs nan;
  nan.evaluation_loss.reset();
  nan.accuracies = {std::nan("")};
  EXPECT_TRUE(contains(error_of<base::Failure>([&] { train(nan, "b"); }), "the score of the evaluation after epoch 1"));
}

// As tokens of unequal texts: accumulated, the mean is over all of them, not over the batches.
TEST_F(TrainerTest, BatchesWeighByWhatTheirLossIsAMeanOver) {
  Blobs problem;
  problem.dropout = 0;
  problem.weight = [](const std::vector<int64_t>& examples) { return 1 + 10 * (examples.front() % 3); };
  optimizer = {.kind = OptimizerKind::sgd, .lr = 1, .momentum = 0};
  options.accumulate = 2;
  options.length = base::steps(1);
  plan.evaluations.reset();
  torch::nn::Linear model(4, 2);
  {
    torch::NoGradGuard no_grad;
    model->weight.copy_(problem.model_->weight);
    model->bias.copy_(problem.model_->bias);
  }
  train(problem, "a");
  torch::Tensor sum = torch::zeros({});
  double weights = 0;
  for (const auto& batch : problem.losses) {
    const torch::Tensor chosen = torch::tensor(batch);
    const auto weight = static_cast<double>(problem.weight(batch));
    sum = sum + weight * at::cross_entropy_loss(model(problem.x_.index_select(0, chosen)),
                                                problem.labels_.index_select(0, chosen));
    weights += weight;
  }
  (sum / weights).backward();
  EXPECT_TRUE(tests::close(problem.model_->weight.detach(), (model->weight - model->weight.grad()).detach(), 1e-6));
}

TEST_F(TrainerTest, TheProblemDecidesWhatDecays) {
  Blobs plain, all;
  all.decays_all = true;
  plain.model_->bias.data().fill_(1);
  all.model_->bias.data().fill_(1);
  optimizer = {.kind = OptimizerKind::adamw, .lr = 1e-9, .weight_decay = 1e8};
  options.length = base::steps(1);
  plan.evaluations.reset();
  train(plain, "plain");
  train(all, "all");
  EXPECT_NEAR(plain.model_->bias[0].item<double>(), 1, 1e-6) << "a vector";
  EXPECT_NEAR(all.model_->bias[0].item<double>(), 0.9, 1e-6);
}

TEST(Autocast, GivesBfloat16InsideAndRestoresOutside) {
  const torch::Tensor a = torch::ones({2, 2});
  const Autocast autocast(Precision::bfloat16);
  EXPECT_EQ(autocast.run([&] { return at::matmul(a, a).scalar_type(); }), torch::kBFloat16);
  EXPECT_EQ(at::matmul(a, a).scalar_type(), torch::kFloat32);
  EXPECT_EQ(Autocast(Precision::float32).run([&] { return at::matmul(a, a).scalar_type(); }), torch::kFloat32);
}

}  // namespace
}  // namespace primal::train
