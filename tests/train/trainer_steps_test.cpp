// Steps, metrics and weights of batches: what differs between families of tasks.
#include "train/trainer_fixture.h"

namespace primal::train {
namespace {

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

TEST_F(TrainerTest, TheProblemDecidesWhatDecaysUnlessAllIsAskedFor) {
  Blobs plain, all, asked;
  all.decays_all = true;
  plain.model_->bias.data().fill_(1);
  all.model_->bias.data().fill_(1);
  asked.model_->bias.data().fill_(1);
  optimizer = {.kind = OptimizerKind::adamw, .lr = 1e-9, .weight_decay = 1e8};
  options.length = base::steps(1);
  plan.evaluations.reset();
  train(plain, "plain");
  train(all, "all");
  optimizer.decays = Decays::all;
  train(asked, "asked");
  EXPECT_NEAR(asked.model_->bias[0].item<double>(), 0.9, 1e-6);
  EXPECT_NEAR(plain.model_->bias[0].item<double>(), 1, 1e-6) << "a vector";
  EXPECT_NEAR(all.model_->bias[0].item<double>(), 0.9, 1e-6);
}

TEST_F(TrainerTest, ByDefaultMatricesDecayThatBeginNearZero) {
  const Blobs problem;
  const torch::Tensor matrix = torch::zeros({2, 2});
  EXPECT_TRUE(problem.decays("encoder.layers.0.linear1.weight", matrix));
  EXPECT_FALSE(problem.decays("encoder.layers.0.linear1.bias", matrix[0]));
  for (const char* name : {"attention.lam", "mixing.log_scale", "mixing.gain", "mixing.taps"}) {
    EXPECT_FALSE(problem.decays("encoder.layers.0." + std::string(name), matrix)) << name;
  }
  EXPECT_FALSE(problem.decays("log_scale", matrix));
}

}  // namespace
}  // namespace primal::train
