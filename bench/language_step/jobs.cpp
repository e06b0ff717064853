#include "language_step/jobs.h"

#include <ATen/ATen.h>

#include <map>

#include "primal/ksvd.h"
#include "primal/safetensors.h"
#include "tasks/language/config.h"
#include "train/optimizer.h"

namespace primal::bench {

namespace {

constexpr double kLr = 1e-3, kEta = 0.1;

// Every token has one that comes next; which they are does not matter for the time.
struct Blocks {
  Blocks(const LanguageSizes& sizes, int64_t examples) {
    const torch::Tensor text = torch::randint(sizes.vocabulary, {examples, sizes.block + 1}, torch::kLong);
    ids = text.narrow(1, 0, sizes.block).contiguous();
    targets = text.narrow(1, 1, sizes.block).contiguous();
  }

  torch::Tensor ids, targets;  // [examples, block]
};

torch::Tensor loss_of(models::LanguageModel& model, const Blocks& blocks) {
  const auto [features, terms] = model->forward(blocks.ids);
  const torch::Tensor mean = model->loss(features, blocks.targets).sum / blocks.targets.numel();
  return terms.empty() ? mean : mean + ksvd_loss(terms, kEta, KsvdReduction::per_sample);
}

train::Optimizer optimizer_of(const torch::nn::Module& model) {
  std::vector<train::Optimizer::Parameter> parameters;
  for (const auto& entry : model.named_parameters()) parameters.push_back({entry.key(), entry.value()});
  return {std::move(parameters), {.lr = kLr}};
}

class TrainingStep : public Job {
 public:
  explicit TrainingStep(const LanguageSizes& sizes)
      : sizes_(sizes), model_(language_model(sizes)), optimizer_(optimizer_of(*model_)), blocks_(sizes, 1) {}

  void prepare(int64_t examples) override { blocks_ = Blocks(sizes_, examples); }

  void run() override {
    optimizer_.zero_grad();
    loss_of(model_, blocks_).backward();
    optimizer_.step(kLr, train::clip_scale(optimizer_.gradient_norm(), /*largest=*/0));
  }

 private:
  LanguageSizes sizes_;
  models::LanguageModel model_;
  train::Optimizer optimizer_;
  Blocks blocks_;
};

}  // namespace

models::LanguageModel language_model(const LanguageSizes& sizes) {
  tasks::LanguageConfig config;
  config.model.layers = sizes.layers;
  config.model.width = sizes.width;
  config.model.heads = sizes.heads;
  config.model.feed_forward = sizes.feed_forward;
  config.model.rank = {sizes.rank};
  config.model.dropout = sizes.dropout;
  config.model.norm_first = true;
  config.data.block = sizes.block;
  return models::LanguageModel(tasks::model_options(config, sizes.vocabulary, /*padding=*/std::nullopt));
}

std::unique_ptr<Job> make_training_step(const LanguageSizes& sizes) { return std::make_unique<TrainingStep>(sizes); }

void save_outcome(const LanguageSizes& sizes, int64_t examples, const std::filesystem::path& path) {
  models::LanguageModel model = language_model(sizes);
  model->eval();
  const Blocks blocks(sizes, examples);
  const torch::Tensor loss = loss_of(model, blocks);
  loss.backward();
  std::map<std::string, torch::Tensor> tensors{
      {"ids", blocks.ids}, {"targets", blocks.targets}, {"loss", loss.detach().reshape({1})}};
  for (const auto& entry : model->named_parameters()) {
    tensors[entry.key()] = entry.value().detach();
    tensors["gradient." + entry.key()] = entry.value().grad();
  }
  save_safetensors(path, tensors);
}

}  // namespace primal::bench
