#include "tasks/verify_model.h"

#include <ATen/ATen.h>

#include <sstream>

#include "models/sequence_classifier.h"

namespace primal::tasks {

namespace {

const char* kind_of(const GoldenFile& file) {
  if (file.text("model") != "time_series_classifier") file.fail("unknown model \"" + file.text("model") + "\"");
  return "time_series";
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

// One encoder layer as published: post-norm, GELU, no mask in the attention; no dropout in golden files.
nn::EncoderLayerOptions layer_options(const GoldenFile& file, const std::string& attention) {
  const auto width = file.number<int64_t>("D"), heads = file.number<int64_t>("H");
  const auto feed_forward = file.number<int64_t>("ffn");
  if (attention == "softmax") {
    return {.attention = nn::SoftmaxAttentionOptions{.width = width, .heads = heads}, .feed_forward = feed_forward};
  }
  if (attention != "primal") file.fail("unknown attention \"" + attention + "\"");
  const auto rank = file.number<int64_t>("s");
  return {.attention = PrimalAttentionOptions{.width = width,
                                              .heads = heads,
                                              .rank = rank,
                                              .rows = std::min(file.number<int64_t>("N"),
                                                               rank * file.number<int64_t>("rank_multi")),
                                              .padding = Padding::ignore,
                                              .sampling = Sampling::linspace},
          .feed_forward = feed_forward};
}

models::SequenceClassifierOptions model_options(const GoldenFile& file) {
  models::SequenceClassifierOptions options{.channels = file.number<int64_t>("features"),
                                            .classes = file.number<int64_t>("classes"),
                                            .tokens = file.number<int64_t>("N"),
                                            .pooling = models::Pooling::flatten,
                                            .padding = Padding::ignore,
                                            .layers = {}};
  for (const std::string& attention : split_at_commas(file.text("layers"))) {
    options.layers.push_back(layer_options(file, attention));
  }
  return options;
}

}  // namespace

Tensors expected_model_results(const GoldenFile& file) {
  Tensors result = file.gradients(kind_of(file));
  for (const char* name : {"logits", "J", "ksvd", "loss"}) result[name] = file.tensor(name);
  return result;
}

Tensors computed_model_results(const GoldenFile& file, at::ScalarType dtype) {
  const char* kind = kind_of(file);
  models::SequenceClassifier model(model_options(file));
  model->to(dtype);
  file.load_parameters(*model, "state.", kind);
  const at::Tensor x = file.tensor("x").to(dtype).clone().requires_grad_();
  auto [logits, terms] = model->forward({.x = x, .padding = file.tensor("mask").eq(0)});
  std::vector<at::Tensor> objectives;
  for (const KsvdTerms& layer : terms) objectives.push_back(layer.objective());
  const at::Tensor ksvd = ksvd_loss(terms, /*eta=*/1, KsvdReduction::none);
  const at::Tensor loss = at::cross_entropy_loss(logits, file.tensor("y")) + file.number<double>("eta") * ksvd.mean();
  loss.backward();

  Tensors result = gradients_of(*model, x);
  result.merge(Tensors{{"logits", logits}, {"J", at::stack(objectives)}, {"ksvd", ksvd}, {"loss", loss}});
  return result;
}

}  // namespace primal::tasks
