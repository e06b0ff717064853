// The loop: order, resume, the weights that are kept, patience, clipping.
#include "train/trainer_fixture.h"

namespace primal::train {
namespace {

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

}  // namespace
}  // namespace primal::train
