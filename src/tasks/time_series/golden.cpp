#include "tasks/time_series/golden.h"

#include <ATen/ATen.h>

#include "base/text.h"
#include "models/sequence_classifier.h"
#include "train/optimizer.h"

namespace primal::tasks {

namespace {

constexpr const char* kNaming = "time_series";  // of the parameters

// One encoder layer as published: post-norm, GELU, no mask in the attention; no dropout in golden files.
nn::EncoderLayerOptions layer_options(const GoldenFile& file, const std::string& attention) {
  nn::EncoderLayerOptions options{.attention = {.kind = attention,
                                                .width = file.number<int64_t>("D"),
                                                .heads = file.number<int64_t>("H"),
                                                .padding = Padding::ignore},
                                  .feed_forward = file.number<int64_t>("ffn")};
  if (attention == "primal") {
    const auto rank = file.number<int64_t>("s");
    options.attention.primal = {.rank = rank,
                                .rows = std::min(file.number<int64_t>("N"), rank * file.number<int64_t>("rank_multi")),
                                .sampling = Sampling::linspace};
  } else if (attention != "softmax") {
    file.fail("unknown attention \"" + attention + "\"");
  }
  return options;
}

models::SequenceClassifierOptions model_options(const GoldenFile& file) {
  models::SequenceClassifierOptions options{.channels = file.number<int64_t>("features"),
                                            .outputs = file.number<int64_t>("classes"),
                                            .tokens = file.number<int64_t>("N"),
                                            .pooling = models::Pooling::flatten,
                                            .padding = Padding::ignore,
                                            .layers = {}};
  for (const std::string& attention : base::split_at_commas(file.text("layers"))) {
    options.layers.push_back(layer_options(file, attention));
  }
  return options;
}

// The network of the file with the parameters and the batch that the file has.
class GoldenModel {
 public:
  struct Results {
    at::Tensor logits;
    std::vector<KsvdTerms> terms;
    at::Tensor ksvd, loss;
  };

  GoldenModel(const GoldenFile& file, at::ScalarType dtype)
      : x(file.tensor("x").to(dtype).clone()),
        network(model_options(file)),
        padding_(file.tensor("mask").eq(0)),
        labels_(file.tensor("y")),
        eta_(file.number<double>("eta")) {
    network->to(dtype);
    file.load_parameters(*network, "state.", kNaming);
  }

  Results forward() {
    auto [logits, terms] = network->forward({.x = x, .padding = padding_});
    const at::Tensor ksvd = ksvd_loss(terms, /*eta=*/1, KsvdReduction::none);
    return {logits, terms, ksvd, at::cross_entropy_loss(logits, labels_) + eta_ * ksvd.mean()};
  }

  at::Tensor x;
  models::SequenceClassifier network;

 private:
  at::Tensor padding_, labels_;
  double eta_;
};

train::Optimizer optimizer_of(const GoldenFile& file, const torch::nn::Module& network) {
  std::vector<train::Optimizer::Parameter> parameters;
  for (const auto& item : network.named_parameters()) parameters.push_back({item.key(), item.value()});
  return {std::move(parameters),
          {.kind = base::named(train::kOptimizerNames, "optimizer", file.text("optimizer")),
           .lr = file.number<double>("lr")}};
}

Tensors expected_pass(const GoldenFile& file) {
  Tensors result = file.gradients(kNaming);
  for (const char* name : {"logits", "J", "ksvd", "loss"}) result[name] = file.tensor(name);
  return result;
}

Tensors computed_pass(const GoldenFile& file, at::ScalarType dtype) {
  GoldenModel model(file, dtype);
  model.x.requires_grad_();
  const GoldenModel::Results results = model.forward();
  results.loss.backward();
  std::vector<at::Tensor> objectives;
  for (const KsvdTerms& layer : results.terms) objectives.push_back(layer.objective());
  Tensors result = gradients_of(*model.network, model.x);
  result.merge(Tensors{
      {"logits", results.logits}, {"J", at::stack(objectives)}, {"ksvd", results.ksvd}, {"loss", results.loss}});
  return result;
}

Tensors expected_training(const GoldenFile& file) {
  Tensors result;
  for (const char* name : {"losses", "gradient_norms", "logits"}) result[name] = file.tensor(name);
  return result;
}

Tensors computed_training(const GoldenFile& file, at::ScalarType dtype) {
  const auto steps = file.number<int64_t>("steps");
  if (steps != file.tensor("losses").numel()) {
    file.fail(c10::str("losses of ", file.tensor("losses").numel(), " steps, the metadata asks for ", steps));
  }
  const auto clip = file.number<double>("clip");
  GoldenModel model(file, dtype);
  train::Optimizer optimizer = optimizer_of(file, *model.network);
  std::vector<double> losses, norms;
  for (int64_t step = 0; step < steps; ++step) {
    const at::Tensor loss = model.forward().loss;
    loss.backward();
    losses.push_back(loss.item<double>());
    norms.push_back(optimizer.gradient_norm());
    optimizer.step(optimizer.options().lr, train::clip_scale(norms.back(), clip));
    optimizer.zero_grad();
  }
  return {{"losses", at::tensor(losses, at::kDouble)},
          {"gradient_norms", at::tensor(norms, at::kDouble)},
          {"logits", model.forward().logits}};
}

}  // namespace

Tensors expected_golden_results(const GoldenFile& file) {
  return file.has("steps") ? expected_training(file) : expected_pass(file);
}

Tensors computed_golden_results(const GoldenFile& file, at::ScalarType dtype) {
  return file.has("steps") ? computed_training(file, dtype) : computed_pass(file, dtype);
}

}  // namespace primal::tasks
