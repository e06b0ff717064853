#include "tasks/language/golden.h"

#include <ATen/ATen.h>

#include "base/text.h"
#include "models/language_model.h"
#include "tasks/golden_network.h"

namespace primal::tasks {

namespace {

constexpr const char* kNaming = "language";  // of the parameters

// As published: pre-norm, ReLU; softmax layers do not look at padded tokens, primal layers do not know of them.
models::LanguageModelOptions golden_language_options(const GoldenFile& file) {
  models::LanguageModelOptions options{.vocabulary = file.number<int64_t>("vocab"),
                                       .tokens = file.number<int64_t>("N"),
                                       .padding = file.number<int64_t>("pad")};
  for (const std::string& attention : base::split_at_commas(file.text("layers"))) {
    nn::EncoderLayerOptions layer = golden_layer(file, attention, /*rows=*/0);
    layer.norm_first = true;
    layer.activation = Activation::relu;
    layer.masked = attention != "primal";
    layer.attention.causal = true;
    layer.attention.masking = nn::Masking::published;
    options.layers.push_back(layer);
  }
  return options;
}

class GoldenLanguageNetwork : public GoldenNetwork {
 public:
  GoldenLanguageNetwork(const GoldenFile& file, at::ScalarType dtype)
      : network_(golden_language_options(file)),
        tokens_(file.tensor("tokens")),
        targets_(file.tensor("targets")),
        eta_(file.number<double>("eta")) {
    network_->to(dtype);
    file.load_parameters(*network_, "state.", kNaming);
  }

  torch::nn::Module& network() override { return *network_; }

  Results forward() override {
    const auto [features, terms] = network_->forward(tokens_);
    const at::Tensor ksvd = ksvd_loss(terms, /*eta=*/1, KsvdReduction::none);
    std::vector<at::Tensor> objectives;
    for (const KsvdTerms& layer : terms) objectives.push_back(layer.objective());
    const at::Tensor nll = network_->loss(features, targets_).sum;
    return {{{"logits", network_->logits(features)}, {"J", at::stack(objectives)}, {"ksvd", ksvd}, {"nll", nll}},
            nll + eta_ * ksvd.mean()};
  }

 private:
  models::LanguageModel network_;
  at::Tensor tokens_, targets_;
  double eta_;
};

}  // namespace

Tensors expected_golden_language(const GoldenFile& file) {
  return expected_pass(file, kNaming, {"logits", "J", "ksvd", "nll"});
}

Tensors computed_golden_language(const GoldenFile& file, at::ScalarType dtype) {
  GoldenLanguageNetwork network(file, dtype);
  return computed_pass(network);
}

}  // namespace primal::tasks
