#include "tasks/time_series/golden.h"

#include <ATen/ATen.h>

#include "base/text.h"
#include "models/sequence_classifier.h"
#include "tasks/golden_network.h"

namespace primal::tasks {

namespace {

constexpr const char* kNaming = "time_series";  // of the parameters

// As published: post-norm, GELU, no mask in the attention.
models::SequenceClassifierOptions golden_series_options(const GoldenFile& file) {
  models::SequenceClassifierOptions options{.channels = file.number<int64_t>("features"),
                                            .outputs = file.number<int64_t>("classes"),
                                            .tokens = file.number<int64_t>("N"),
                                            .pooling = models::Pooling::flatten,
                                            .padding = Padding::ignore,
                                            .layers = {}};
  for (const std::string& attention : base::split_at_commas(file.text("layers"))) {
    const int64_t rows = attention == "primal" ? file.number<int64_t>("s") * file.number<int64_t>("rank_multi") : 0;
    options.layers.push_back(golden_layer(file, attention, std::min(options.tokens, rows)));
  }
  return options;
}

class GoldenSeriesNetwork : public GoldenNetwork {
 public:
  GoldenSeriesNetwork(const GoldenFile& file, at::ScalarType dtype)
      : x_(file.tensor("x").to(dtype).clone()),
        network_(golden_series_options(file)),
        padding_(file.tensor("mask").eq(0)),
        labels_(file.tensor("y")),
        eta_(file.number<double>("eta")) {
    network_->to(dtype);
    file.load_parameters(*network_, "state.", kNaming);
  }

  torch::nn::Module& network() override { return *network_; }
  at::Tensor x() override { return x_; }

  Results forward() override {
    const auto [logits, terms] = network_->forward({.x = x_, .padding = padding_});
    const at::Tensor ksvd = ksvd_loss(terms, /*eta=*/1, KsvdReduction::none);
    std::vector<at::Tensor> objectives;
    for (const KsvdTerms& layer : terms) objectives.push_back(layer.objective());
    return {{{"logits", logits}, {"J", at::stack(objectives)}, {"ksvd", ksvd}},
            at::cross_entropy_loss(logits, labels_) + eta_ * ksvd.mean()};
  }

 private:
  at::Tensor x_;
  models::SequenceClassifier network_;
  at::Tensor padding_, labels_;
  double eta_;
};

}  // namespace

Tensors expected_golden_series(const GoldenFile& file) {
  return file.has("steps") ? expected_training(file) : expected_pass(file, kNaming, {"logits", "J", "ksvd"});
}

Tensors computed_golden_series(const GoldenFile& file, at::ScalarType dtype) {
  GoldenSeriesNetwork network(file, dtype);
  return file.has("steps") ? computed_training(file, network) : computed_pass(network);
}

}  // namespace primal::tasks
