#include "tasks/offline_rl/golden.h"

#include <ATen/ATen.h>

#include "base/text.h"
#include "models/action_error.h"
#include "models/decision_transformer.h"
#include "tasks/golden_network.h"

namespace primal::tasks {

namespace {

constexpr const char* kDecisionNaming = "rl";  // of the parameters

// As published: pre-norm, ReLU; softmax layers do not look at padded tokens, primal layers do not know of them.
models::DecisionOptions golden_decision_options(const GoldenFile& file) {
  models::DecisionOptions options{.states = file.number<int64_t>("state"),
                                  .actions = file.number<int64_t>("action"),
                                  .steps = file.number<int64_t>("K"),
                                  .max_timestep = file.number<int64_t>("time_steps"),
                                  .all_heads = true};
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

class GoldenDecisionNetwork : public GoldenNetwork {
 public:
  GoldenDecisionNetwork(const GoldenFile& file, at::ScalarType dtype)
      : network_(golden_decision_options(file)),
        windows_{.states = file.tensor("states").to(dtype),
                 .actions = file.tensor("actions").to(dtype),
                 .returns_to_go = file.tensor("returns_to_go").squeeze(-1).to(dtype),
                 .timesteps = file.tensor("timesteps"),
                 .padding = file.tensor("mask").eq(0)},
        eta_(file.number<double>("eta")) {
    network_->to(dtype);
    file.load_parameters(*network_, "state.", kDecisionNaming);
  }

  torch::nn::Module& network() override { return *network_; }

  Results forward() override {
    const models::DecisionOutput output = network_->forward(windows_);
    const at::Tensor ksvd = ksvd_loss(output.terms, /*eta=*/1, KsvdReduction::none);
    std::vector<at::Tensor> objectives;
    for (const KsvdTerms& layer : output.terms) objectives.push_back(layer.objective());
    const at::Tensor mse = models::action_error(output.actions, windows_.actions, windows_.padding);
    return {{{"action_preds", output.actions},
             {"state_preds", output.states},
             {"return_preds", output.returns.unsqueeze(-1)},
             {"J", at::stack(objectives)},
             {"ksvd", ksvd},
             {"mse", mse}},
            mse + eta_ * ksvd.mean()};
  }

 private:
  models::DecisionTransformer network_;
  models::DecisionWindows windows_;
  double eta_;
};

// Of all parameters together, before any clipping.
at::Tensor norm_of_gradients(const Tensors& results) {
  std::vector<at::Tensor> norms;
  for (const auto& [name, value] : results) {
    if (name.starts_with("grad.")) norms.push_back(value.norm());
  }
  return at::stack(norms).norm();
}

}  // namespace

Tensors expected_golden_decision(const GoldenFile& file) {
  return expected_pass(file, kDecisionNaming,
                       {"action_preds", "state_preds", "return_preds", "J", "ksvd", "mse", "gradient_norm"});
}

Tensors computed_golden_decision(const GoldenFile& file, at::ScalarType dtype) {
  GoldenDecisionNetwork network(file, dtype);
  Tensors results = computed_pass(network);
  results["gradient_norm"] = norm_of_gradients(results);
  return results;
}

}  // namespace primal::tasks
