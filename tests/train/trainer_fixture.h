// A small problem, and trainings of it in a folder of the test.
#pragma once

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
#include "train/checkpoint.h"
#include "train/trainer.h"

namespace primal::train {

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

}  // namespace primal::train
