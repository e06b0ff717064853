#include "lra_step/jobs.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "models/token_classifier.h"
#include "tasks/encoder_config.h"
#include "tasks/ksvd.h"
#include "train/optimizer.h"

namespace primal::bench {

namespace {

constexpr int64_t kVocabulary = 512, kClasses = 10;  // of the largest task: a hundredth of the work depends on them
constexpr double kLr = 1e-4;
const tasks::KsvdOptions kKsvd{.eta = 0.05, .reduction = KsvdReduction::batch_mean};

// The sizes of configs/lra/_lra.toml.
std::vector<nn::EncoderLayerOptions> layers_of(const JobOptions& options) {
  tasks::EncoderConfig config;
  config.layers = options.layers;
  config.width = 64;
  config.heads = 2;
  config.feed_forward = 128;
  config.rank = {options.rank};
  config.norm_first = true;
  auto layers = tasks::layer_options(config, options.tokens);
  for (nn::EncoderLayerOptions& layer : layers) layer.attention.dropout = 0;
  return layers;
}

train::Optimizer optimizer_of(const torch::nn::Module& model) {
  std::vector<train::Optimizer::Parameter> parameters;
  for (const auto& entry : model.named_parameters()) parameters.push_back({entry.key(), entry.value()});
  return {std::move(parameters), {.lr = kLr, .eps = 1e-6}};
}

class TrainingStep : public Job {
 public:
  explicit TrainingStep(const JobOptions& options)
      : options_(options),
        model_(models::TokenClassifierOptions{.vocabulary = kVocabulary,
                                              .outputs = kClasses,
                                              .tokens = options.tokens,
                                              .hidden = 128,
                                              .pairs = options.pairs,
                                              .dropout = 0.1,
                                              .layers = layers_of(options)}),
        optimizer_(optimizer_of(*model_)) {}

  void prepare(int64_t examples) override {
    const int64_t sequences = options_.pairs ? 2 * examples : examples;
    const torch::Tensor ids = torch::randint(1, kVocabulary, {sequences, options_.tokens}, torch::kLong);
    batch_ = {.ids = ids, .padding = ids.eq(0)};
    right_ = torch::randint(kClasses, {examples}, torch::kLong);
  }

  void run() override {
    optimizer_.zero_grad();
    for (int64_t i = 0; i < options_.accumulate; ++i) {
      (loss() / static_cast<double>(options_.accumulate)).backward();
    }
    optimizer_.step(kLr, train::clip_scale(optimizer_.gradient_norm(), /*largest=*/0));
  }

 private:
  torch::Tensor loss() {
    const tasks::KsvdListener heard(kKsvd);
    const auto [logits, terms] = model_->forward(batch_);
    const torch::Tensor task = at::cross_entropy_loss(logits, right_);
    train::BatchLoss loss{.total = task, .task = task.item<double>(), .objective = {}};
    tasks::add_ksvd(loss, terms, kKsvd, heard);
    return loss.total;
  }

  JobOptions options_;
  models::TokenClassifier model_;
  train::Optimizer optimizer_;
  models::TokenBatch batch_;
  torch::Tensor right_;
};

class LayerPasses : public Job {
 public:
  explicit LayerPasses(const JobOptions& options) : options_(options), layer_(layers_of(options).front()) {}

  void prepare(int64_t examples) override {
    x_ = torch::randn({examples, options_.tokens, 64}).requires_grad_();
    gradient_ = torch::randn_like(x_) / static_cast<double>(x_.numel());
  }

  void run() override {
    layer_->zero_grad();
    x_.mutable_grad().reset();
    const auto [out, terms] = layer_->forward(x_);
    std::vector<torch::Tensor> roots = {out}, gradients = {gradient_};
    if (terms) {
      roots.push_back(ksvd_loss({*terms}, kKsvd.eta, kKsvd.reduction));
      gradients.push_back({});
    }
    torch::autograd::backward(roots, gradients);
  }

 private:
  JobOptions options_;
  nn::EncoderLayer layer_;
  torch::Tensor x_, gradient_;
};

}  // namespace

std::unique_ptr<Job> make_training_step(const JobOptions& options) { return std::make_unique<TrainingStep>(options); }
std::unique_ptr<Job> make_encoder_layer(const JobOptions& options) { return std::make_unique<LayerPasses>(options); }

}  // namespace primal::bench
