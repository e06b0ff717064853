#include "tasks/lra/golden.h"

#include <ATen/ATen.h>

#include "base/text.h"
#include "models/token_classifier.h"
#include "tasks/golden_network.h"

namespace primal::tasks {

namespace {

constexpr const char* kNaming = "lra";  // of the parameters

bool is_of_pairs(const GoldenFile& file) { return file.text("model") == "lra_pair_classifier"; }

// As published: pre-norm, masks as the code has them, mean over the padded length.
models::TokenClassifierOptions golden_lra_options(const GoldenFile& file) {
  models::TokenClassifierOptions options{.vocabulary = file.number<int64_t>("vocab"),
                                         .outputs = file.number<int64_t>("classes"),
                                         .tokens = file.number<int64_t>("N"),
                                         .hidden = file.number<int64_t>("head_hidden"),
                                         .pairs = is_of_pairs(file),
                                         .pooling = models::TokenPooling::padded_mean};
  for (const std::string& attention : base::split_at_commas(file.text("layers"))) {
    nn::EncoderLayerOptions layer = golden_layer(file, attention, file.number<int64_t>("n"));
    layer.norm_first = true;
    layer.attention.masking = nn::Masking::published;
    const bool trace_on_data = file.text("trace") == "data_dependent";
    layer.attention.primal.trace = trace_on_data ? Trace::data_dependent : Trace::raw;
    options.layers.push_back(layer);
  }
  return options;
}

// Of pairs the first sequences come first.
at::Tensor sequences_of(const GoldenFile& file, const std::string& name) {
  return is_of_pairs(file) ? at::cat({file.tensor(name + "_0"), file.tensor(name + "_1")}) : file.tensor(name);
}

class GoldenLraNetwork : public GoldenNetwork {
 public:
  GoldenLraNetwork(const GoldenFile& file, at::ScalarType dtype)
      : network_(golden_lra_options(file)),
        batch_{sequences_of(file, "ids"), sequences_of(file, "mask").eq(0)},
        labels_(file.tensor("y")),
        eta_(file.number<double>("eta")) {
    network_->to(dtype);
    file.load_parameters(*network_, "state.", kNaming);
  }

  torch::nn::Module& network() override { return *network_; }

  Results forward() override {
    const auto [logits, terms] = network_->forward(batch_);
    const at::Tensor ksvd = ksvd_loss(terms, /*eta=*/1, KsvdReduction::batch_mean);
    std::vector<at::Tensor> objectives;
    for (const KsvdTerms& layer : terms) objectives.push_back(layer.objective().mean());
    const at::Tensor task = at::cross_entropy_loss(logits, labels_);
    return {{{"logits", logits}, {"J", at::stack(objectives)}, {"ksvd", ksvd}, {"loss_ce", task}}, task + eta_ * ksvd};
  }

 private:
  models::TokenClassifier network_;
  models::TokenBatch batch_;
  at::Tensor labels_;
  double eta_;
};

}  // namespace

Tensors expected_golden_lra(const GoldenFile& file) {
  return file.has("steps") ? expected_training(file) : expected_pass(file, kNaming, {"logits", "J", "ksvd", "loss_ce"});
}

Tensors computed_golden_lra(const GoldenFile& file, at::ScalarType dtype) {
  GoldenLraNetwork network(file, dtype);
  return file.has("steps") ? computed_training(file, network) : computed_pass(network);
}

}  // namespace primal::tasks
