#include "models/behaviour_cloning.h"

#include <ATen/ATen.h>

#include "ops/dropout.h"
#include "primal/error.h"

namespace primal::models {

namespace {

void check_cloning_options(const CloningOptions& o) {
  for (const auto& [name, value] : {std::pair{"states", o.states},
                                    {"actions", o.actions},
                                    {"steps", o.steps},
                                    {"width", o.width},
                                    {"layers", o.layers}}) {
    if (value < 1) throw Error(c10::str("behaviour_cloning: ", name, " must be at least 1, got ", value));
  }
  if (!(o.dropout >= 0 && o.dropout < 1)) {
    throw Error(c10::str("behaviour_cloning: dropout must be in [0, 1), got ", o.dropout));
  }
}

// Of each token those of the `steps` tokens that end with it, oldest first, 0 before the first: [B, N, S] ->
// [B, N, steps S]
torch::Tensor with_those_before(const torch::Tensor& x, int64_t steps) {
  if (steps == 1) return x;
  return at::constant_pad_nd(x, {0, 0, steps - 1, 0}).unfold(1, steps, 1).transpose(2, 3).flatten(2);
}

}  // namespace

BehaviourCloningImpl::BehaviourCloningImpl(CloningOptions options) : options_(options) {
  check_cloning_options(options_);
  reset();
}

void BehaviourCloningImpl::reset() {
  maps = register_module("maps", torch::nn::ModuleList());
  int64_t inputs = options_.steps * options_.states;
  for (int64_t i = 0; i < options_.layers; ++i) {
    maps->push_back(torch::nn::Linear(inputs, options_.width));
    inputs = options_.width;
  }
  maps->push_back(torch::nn::Linear(inputs, options_.actions));
}

torch::Tensor BehaviourCloningImpl::forward(const torch::Tensor& states, const std::optional<torch::Tensor>& padding) {
  if (states.dim() != 3 || states.size(2) != options_.states) {
    throw Error(c10::str("behaviour_cloning: expected states [B, N, ", options_.states, "], got ", states.sizes()));
  }
  if (padding && padding->sizes() != states.sizes().slice(0, 2)) {
    throw Error(
        c10::str("behaviour_cloning: expected padding ", states.sizes().slice(0, 2), ", got ", padding->sizes()));
  }
  torch::Tensor x = with_those_before(padding ? states.masked_fill(padding->unsqueeze(-1), 0) : states, options_.steps);
  for (size_t i = 0; i < maps->size(); ++i) {
    if (i > 0) x = ops::dropout(x.relu(), options_.dropout, is_training());
    x = maps->ptr(i)->as<torch::nn::Linear>()->forward(x);
  }
  return x.tanh();
}

}  // namespace primal::models
