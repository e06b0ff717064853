#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "run/classification.h"
#include "support/errors.h"
#include "support/lra_files.h"
#include "support/tensors.h"
#include "tasks/lra/task.h"

namespace primal::tasks {
namespace {

using tests::close;
using tests::contains;
using tests::error_of;

class LraTest : public tests::LraFolderTest {
 protected:
  LraTest() {
    write_listops();
    write_text();
    write_pairs();
    write_pictures();
  }

  LraTask opened(const std::string& task, bool holds_out = true) {
    config.data.task = task;
    return LraTask(config, {.search = search(), .hold_out = holds_out});
  }
  void as_published() {
    config.run.protocol = Protocol::paper;
    config.model.padding = Padding::ignore;
    config.model.masking = nn::Masking::published;
    config.model.pooling = models::TokenPooling::padded_mean;
    config.data.black = Black::padding;
    config.data.padded_to = PaddedTo::full;
  }
  TokenParts parts_read() { return load_lra(config, {.search = search()}); }
};

models::TokenClassifierImpl& model_of(LraTask& task) {
  return dynamic_cast<models::TokenClassifierImpl&>(task.model());
}

std::unique_ptr<train::Batch> some_batch(const LraTask& task, std::vector<int64_t> examples) {
  return task.batch(std::move(examples), base::Random(1));
}

TEST_F(LraTest, EveryFileIsReadOnceAtTheStart) {
  for (const char* name : {"listops", "text", "retrieval", "image"}) {
    LraTask task = opened(name);
    std::filesystem::rename(folder, folder.string() + ".away");
    task.loss(*some_batch(task, {0, 1, 2}));
    EXPECT_NO_THROW(task.evaluate(Part::validation));
    EXPECT_NO_THROW(task.evaluate(Part::test));
    std::filesystem::rename(folder.string() + ".away", folder);
  }
}

TEST_F(LraTest, ProtocolsSeeTheirParts) {
  const auto parts = [&](const char* name, bool holds_out) {
    LraTask task = opened(name, holds_out);
    return std::pair(task.examples(), task.has(Part::validation));
  };
  EXPECT_EQ(parts("listops", true), std::pair(20L, true));
  EXPECT_EQ(parts("listops", false), std::pair(20L, true));
  config.data.validation = 0.2;
  EXPECT_EQ(parts("text", true), std::pair(24L, true));
  EXPECT_EQ(parts("text", false), std::pair(30L, false));
  LraTask task = opened("text", false);
  EXPECT_EQ(error_of([&] { task.evaluate(Part::validation); }), "this run has held out no validation part");
}

// Its validation part is TEST: whoever reads the number should know.
TEST_F(LraTest, ThePublishedTextRunIsChosenByTest) {
  as_published();
  EXPECT_TRUE(opened("listops", false).notes().empty());
  EXPECT_EQ(config.selection(), Part::validation);
  EXPECT_EQ(
      opened("text", false).notes(),
      (std::vector<std::string>{"the published run has no validation part here: its weights are chosen by TEST"}));
  EXPECT_EQ(config.selection(), Part::test);
  config.run.protocol = Protocol::honest;
  EXPECT_EQ(config.selection(), Part::validation);
  EXPECT_TRUE(opened("text").notes().empty());
}

TEST_F(LraTest, WeightsArePublishedAsChosenByValidationButForText) {
  for (const LraSource& source : lra_sources()) {
    config.data.task = source.name;
    EXPECT_EQ(config.published_selection(), source.name == "text" ? Part::test : Part::validation) << source.name;
  }
}

TEST_F(LraTest, TheDescriptionCountsTheParts) {
  config.data.validation = 0.2;
  EXPECT_EQ(opened("listops").description(),
            "lra/listops: 20 training examples, 6 for validation, 7 for TEST; up to 2000 tokens, 10 classes");
  EXPECT_EQ(opened("text", false).description(),
            "lra/text: 30 training examples, 9 for TEST; up to 4000 tokens, 2 classes");
  EXPECT_TRUE(contains(opened("retrieval").description(), "; pairs of up to 4000 tokens, 2 classes"));
}

TEST_F(LraTest, ABatchIsTheSameWheneverItIsMade) {
  LraTask task = opened("text");
  task.model().eval();
  const double first = task.loss(*task.batch({0, 3, 5}, base::Random(1))).task;
  EXPECT_EQ(task.loss(*task.batch({0, 3, 5}, base::Random(1))).task, first);
  EXPECT_NE(task.loss(*task.batch({0, 3, 6}, base::Random(1))).task, first);
}

TEST_F(LraTest, ABatchIsPaddedToItsLongestOrAsPublished) {
  LraTask tight = opened("text");
  EXPECT_LT(tight.loss(*some_batch(tight, {0, 1})).tokens, 2 * 50);
  config.data.padded_to = PaddedTo::full;
  LraTask full = opened("text");
  EXPECT_EQ(full.loss(*some_batch(full, {0, 1})).tokens, 2 * 4096) << "the next power of two";
  EXPECT_EQ(model_of(full).positions.size(0), 4096);
}

TEST_F(LraTest, ThereAreAsManyIdsAsTokensAndPadding) {
  const auto ids = [&](const char* name) {
    LraTask task = opened(name);
    return model_of(task).tokens->weight.size(0);
  };
  EXPECT_EQ(ids("listops"), 16);
  EXPECT_EQ(ids("text"), 257);
  EXPECT_EQ(ids("image"), 257);
  config.data.black = Black::padding;
  EXPECT_EQ(ids("image"), 256);
  EXPECT_EQ(ids("text"), 257) << "black is a matter of pictures";
  config.model.vocabulary = 512;
  EXPECT_EQ(ids("text"), 512);
}

// -> [B, classes], log of the shares, from the model itself.
torch::Tensor plain_logs(LraTask& task, const data::TokenSet& set, const std::vector<int64_t>& examples,
                         std::vector<KsvdTerms>* terms = nullptr, const TokenCoding& coding = {}) {
  const auto answer = model_of(task).forward(batch_of(set, examples, coding));
  if (terms != nullptr) *terms = answer.terms;
  return answer.outputs - answer.outputs.exp().sum(1, true).log();
}

TEST_F(LraTest, TheLossIsTheCrossEntropyAndTheSquareOfTheMeanObjective) {
  config.loss.eta = 0.3;
  LraTask task = opened("listops");
  const data::TokenSet train = parts_read().train;
  const std::vector<int64_t> examples = {4, 0, 7, 9};
  std::vector<KsvdTerms> terms;
  const torch::Tensor logs = plain_logs(task, train, examples, &terms);
  double entropy = 0, right = 0;
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t label = train.labels[static_cast<size_t>(examples[static_cast<size_t>(i)])];
    entropy -= logs[i][label].item<double>() / 4;
    right += logs[i].argmax().item<int64_t>() == label;
  }
  const double first = terms[0].objective().mean().item<double>(), second = terms[1].objective().mean().item<double>();

  const auto batch = some_batch(task, examples);
  EXPECT_EQ(batch->weight, 4);
  train::BatchLoss loss = task.loss(*batch);
  EXPECT_NEAR(loss.task, entropy, 1e-5);
  EXPECT_NEAR(loss.ksvd, 0.3 * (first * first + second * second) / 2, 1e-5);
  EXPECT_NEAR(loss.total.item<double>(), loss.task + loss.ksvd, 1e-5);
  EXPECT_NEAR(loss.objective[1], second, 1e-5);
  EXPECT_EQ(loss.score, right);
  EXPECT_EQ(loss.tokens, batch_of(train, examples, {}).ids.numel());

  config.loss.reduction = KsvdReduction::per_sample;
  LraTask other = opened("listops");  // the same weights
  const double squares =
      (terms[0].objective().square().mean() + terms[1].objective().square().mean()).item<double>() / 2;
  EXPECT_NEAR(other.loss(*batch).ksvd, 0.3 * squares, 1e-5);
}

TEST_F(LraTest, SmoothedLabelsShareSomeOfTheWeightAmongAllClasses) {
  config.loss.label_smoothing = 0.2;
  LraTask task = opened("listops");
  const torch::Tensor logs = plain_logs(task, parts_read().train, {5});
  const int64_t label = parts_read().train.labels[5];
  const double expected = -0.8 * logs[0][label].item<double>() - 0.2 * logs[0].mean().item<double>();
  EXPECT_NEAR(task.loss(*some_batch(task, {5})).task, expected, 1e-5);
}

TEST_F(LraTest, TheTermsOfPairsEnterTheLossAsMeans) {
  config.loss.eta = 1;
  LraTask task = opened("retrieval");
  const train::BatchLoss loss = task.loss(*some_batch(task, {0, 1, 2}));
  ASSERT_EQ(loss.objective.size(), 2u);
  EXPECT_NEAR(loss.ksvd, (loss.objective[0] * loss.objective[0] + loss.objective[1] * loss.objective[1]) / 2, 1e-5);
}

TEST_F(LraTest, AnEvaluationIsThatOfOneExampleAfterAnother) {
  for (const bool is_published : {false, true}) {
    SCOPED_TRACE(is_published);
    if (is_published) as_published();
    config.data.tokens = 50;  // padded to 64
    LraTask task = opened("text", !is_published);
    task.model().eval();
    const torch::NoGradGuard no_grad;
    const data::TokenSet test = parts_read().test;
    double loss = 0, right = 0, objective = 0;
    for (int64_t i = 0; i < 9; ++i) {
      std::vector<KsvdTerms> terms;
      const int64_t label = test.labels[static_cast<size_t>(i)];
      const torch::Tensor logs = plain_logs(task, test, {i}, &terms, {.padded_to = is_published ? 64 : 0})[0];
      loss -= logs[label].item<double>() / 9;
      right += logs.argmax().item<int64_t>() == label;
      objective += terms[1].objective().item<double>() / 9;
    }
    const Evaluation evaluation = task.evaluate(Part::test);
    EXPECT_NEAR(*evaluation.loss, loss, 1e-5);
    EXPECT_NEAR(evaluation.score, right / 9, 1e-9);
    EXPECT_NEAR(evaluation.objective[1], objective, 1e-4);
    EXPECT_EQ(run::class_details(evaluation)->classes, (std::vector<std::string>{"neg", "pos"}));
  }
}

TEST_F(LraTest, ARefitTrainsOnTheValidationPartToo) {
  for (const auto& [name, examples] : {std::pair{"listops", 26}, {"text", 30}, {"image", 20}}) {
    SCOPED_TRACE(name);
    LraTask task = opened(name);
    std::filesystem::rename(folder, folder.string() + ".away");
    const std::unique_ptr<Task> whole = task.whole();
    EXPECT_EQ(whole->examples(), examples);
    EXPECT_FALSE(whole->has(Part::validation));
    EXPECT_EQ(whole->facts(), task.facts());
    EXPECT_NO_THROW(whole->loss(*whole->batch({examples - 1}, base::Random(1))));
    EXPECT_NO_THROW(whole->evaluate(Part::test));
    EXPECT_TRUE(task.has(Part::validation)) << "the task itself is as it was";
    const auto first = task.model().parameters(), again = whole->model().parameters();
    for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(at::equal(first[i], again[i])) << "it begins anew";
    std::filesystem::rename(folder.string() + ".away", folder);
  }
}

TEST_F(LraTest, TheFirstWeightsAreAMatterOfTheSeedAlone) {
  const auto weights = [&](bool holds_out) { return opened("text", holds_out).model().parameters()[1].clone(); };
  const torch::Tensor first = weights(true);
  torch::rand({7});
  EXPECT_TRUE(at::equal(weights(false), first));
  config.train.seed = 2;
  EXPECT_FALSE(at::equal(weights(true), first));
}

// Called while a run trains: the course of the run must not feel it.
TEST_F(LraTest, ALookAtTheModelDrawsNoRandomNumbers) {
  LraTask task = opened("text");
  task.model().eval();
  torch::manual_seed(3);
  const torch::Tensor expected = torch::rand({2});
  torch::manual_seed(3);
  task.forward({.part = Part::train});
  EXPECT_TRUE(at::equal(torch::rand({2}), expected));
}

TEST_F(LraTest, ConfigurationsThatCannotWorkAreRefused) {
  config.check();
  config.data.task = "paths";
  EXPECT_TRUE(contains(error_of([&] { config.check(); }), "data.task: expected one of listops, text, "));
  config.data.task = "text";
  config.model.vocabulary = 256;
  EXPECT_EQ(error_of([&] { config.check(); }), "model.vocabulary: expected 0 or at least 257 for text, got 256");
  config.model.vocabulary = 257;
  config.check();
  config.data.validation = 0;
  EXPECT_EQ(error_of([&] { config.check(); }),
            "data.validation: expected more than 0 with the honest protocol, which holds a part of text out, got 0");
  config.run.protocol = Protocol::paper;
  config.check();
  config.run.protocol = Protocol::honest;
  config.data.task = "listops";
  config.check();
  config.model.heads = 3;
  EXPECT_EQ(error_of([&] { config.check(); }), "model.width: 8 is not divisible by 3 heads");
}

}  // namespace
}  // namespace primal::tasks
