#include "models/decision_transformer.h"

#include <ATen/ATen.h>

#include <utility>

#include "ops/dropout.h"
#include "primal/error.h"

namespace primal::models {

namespace {

constexpr int64_t kTokensOfStep = 3;  // return, state, action
constexpr double kPublishedDeviation = 0.02;

void check_decision_options(const DecisionOptions& o) {
  for (const auto& [name, value] :
       {std::pair{"states", o.states}, {"actions", o.actions}, {"steps", o.steps}, {"max_timestep", o.max_timestep}}) {
    if (value < 1) throw Error(c10::str("decision_transformer: ", name, " must be at least 1, got ", value));
  }
  if (o.layers.empty()) throw Error("decision_transformer: at least one layer is needed");
  for (const nn::EncoderLayerOptions& layer : o.layers) {
    if (!layer.attention.causal) throw Error("decision_transformer: every layer must be causal");
  }
}

std::string shown(const torch::Tensor& tensor) { return tensor.defined() ? c10::str(tensor.sizes()) : "none"; }

void check_decision_sizes(const char* what, const torch::Tensor& given, at::IntArrayRef expected) {
  if (given.defined() && given.sizes() == expected) return;
  throw Error(c10::str("decision_transformer: expected ", what, " ", expected, ", got ", shown(given)));
}

void begin_as_gpt2(torch::nn::Module& encoder) {
  const torch::NoGradGuard no_grad;
  for (const auto& module : encoder.modules()) {
    auto* linear = module->as<torch::nn::Linear>();
    if (linear == nullptr) continue;
    linear->weight.normal_(0, kPublishedDeviation);
    if (linear->bias.defined()) linear->bias.zero_();
  }
}

// [B, K, D] each -> [B, 3 K, D]: those of a step behind one another.
torch::Tensor interleaved(const std::vector<torch::Tensor>& tokens) {
  const torch::Tensor& one = tokens.front();
  return at::stack(tokens, 2).view({one.size(0), static_cast<int64_t>(tokens.size()) * one.size(1), one.size(2)});
}

}  // namespace

DecisionTransformerImpl::DecisionTransformerImpl(DecisionOptions options) : options_(std::move(options)) {
  check_decision_options(options_);
  reset();
}

void DecisionTransformerImpl::reset() {
  const auto linear = [&](const char* name, int64_t in, int64_t out) {
    return register_module(name, torch::nn::Linear(in, out));
  };
  embed_timestep = register_module("embed_timestep", torch::nn::Embedding(options_.max_timestep, width()));
  embed_return = linear("embed_return", 1, width());
  embed_state = linear("embed_state", options_.states, width());
  embed_action = linear("embed_action", options_.actions, width());
  embed_norm = register_module("embed_norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width()})));
  encoder = register_module("encoder", nn::Encoder(options_.layers));
  if (options_.init == DecisionInit::published) begin_as_gpt2(*encoder);
  predict_action = linear("predict_action", width(), options_.actions);
  if (!options_.all_heads) return;
  predict_state = linear("predict_state", width(), options_.states);
  predict_return = linear("predict_return", width(), 1);
}

void DecisionTransformerImpl::check_windows(const DecisionWindows& w) const {
  if (!w.states.defined() || w.states.dim() != 3 || w.states.size(2) != options_.states) {
    throw Error(c10::str("decision_transformer: expected states [B, K, ", options_.states, "], got ", shown(w.states)));
  }
  const int64_t batch = w.states.size(0), steps = w.states.size(1);
  check_decision_sizes("actions", w.actions, {batch, steps, options_.actions});
  check_decision_sizes("returns_to_go", w.returns_to_go, {batch, steps});
  check_decision_sizes("timesteps", w.timesteps, {batch, steps});
  if (w.timesteps.scalar_type() != torch::kInt64) {
    throw Error(c10::str("decision_transformer: timesteps must be int64, got ", w.timesteps.scalar_type()));
  }
  if (!w.padding) return;
  check_decision_sizes("padding", *w.padding, {batch, steps});
  if (w.padding->scalar_type() != torch::kBool) {
    throw Error(c10::str("decision_transformer: padding must be bool, got ", w.padding->scalar_type()));
  }
}

void DecisionTransformerImpl::check_step(const DecisionStep& now, const DecisionState& state) const {
  if (!now.states.defined() || now.states.dim() != 2 || now.states.size(1) != options_.states) {
    throw Error(c10::str("decision_transformer: expected states [B, ", options_.states, "], got ", shown(now.states)));
  }
  const int64_t batch = now.states.size(0);
  check_decision_sizes("returns_to_go", now.returns_to_go, {batch});
  if (state.timestep == 0 && now.previous_actions) {
    throw Error("decision_transformer: no action was done before the first step");
  }
  if (state.timestep > 0 && !now.previous_actions) {
    throw Error(c10::str("decision_transformer: step ", state.timestep, " needs the actions of the step before"));
  }
  if (now.previous_actions) check_decision_sizes("previous_actions", *now.previous_actions, {batch, options_.actions});
}

bool DecisionTransformerImpl::sees_padding() const {
  for (size_t i = 0; i < options_.layers.size(); ++i) {
    const auto& layer = *encoder->layers->ptr(i)->as<nn::EncoderLayerImpl>();
    if (!options_.layers[i].masked || layer.attention->sees_padding()) return true;
  }
  return false;
}

// Steps beyond the table share its last row: an episode may go on for longer than any that was learnt from.
torch::Tensor DecisionTransformerImpl::rows_of(const torch::Tensor& timesteps) {
  if (timesteps.lt(0).any().item<bool>()) {
    throw Error(c10::str("decision_transformer: time step ", timesteps.min().item<int64_t>(), " is negative"));
  }
  return embed_timestep(timesteps.clamp_max(options_.max_timestep - 1));
}

// windows: without padding where that is to leave no trace
torch::Tensor DecisionTransformerImpl::embedded(const DecisionWindows& windows) {
  const torch::Tensor rows = rows_of(windows.timesteps);
  return embed_norm(interleaved({embed_return(windows.returns_to_go.unsqueeze(-1)) + rows,
                                 embed_state(windows.states) + rows, embed_action(windows.actions) + rows}));
}

nn::EncoderMasks DecisionTransformerImpl::masks_of(const DecisionWindows& windows, bool last_only) const {
  nn::EncoderMasks masks;
  if (windows.padding) masks.padding = windows.padding->repeat_interleave(kTokensOfStep, 1);
  if (sees_padding()) return masks;
  masks.unread = masks.padding;
  if (options_.all_heads && !last_only) return masks;
  // Only the state's token of a step is read.
  torch::Tensor others = at::ones_like(windows.timesteps, at::kBool).repeat_interleave(kTokensOfStep, 1);
  torch::Tensor read = others.view({others.size(0), -1, kTokensOfStep}).select(2, 1);
  (last_only ? read.select(1, -1) : read).zero_();
  masks.unread = masks.padding ? others.logical_or(*masks.padding) : others;
  return masks;
}

std::pair<torch::Tensor, std::vector<KsvdTerms>> DecisionTransformerImpl::features_of(const DecisionWindows& given,
                                                                                      bool last_only) {
  check_windows(given);
  DecisionWindows windows = given;
  if (windows.padding && !windows.padding->any().item<bool>()) windows.padding.reset();  // layers without masks
  if (windows.padding && !sees_padding()) {
    // A NaN would come back from the backward pass of the embedding, though nothing reads its token.
    const torch::Tensor &padded = *windows.padding, each = padded.unsqueeze(-1);
    windows.states = windows.states.masked_fill(each, 0);
    windows.actions = windows.actions.masked_fill(each, 0);
    windows.returns_to_go = windows.returns_to_go.masked_fill(padded, 0);
    windows.timesteps = windows.timesteps.masked_fill(padded, 0);
  }
  auto [features, terms] =
      encoder(ops::dropout(embedded(windows), options_.dropout, is_training()), masks_of(windows, last_only));
  return {features.view({windows.states.size(0), -1, kTokensOfStep, width()}), std::move(terms)};
}

torch::Tensor DecisionTransformerImpl::last_action(const DecisionWindows& windows) {
  return predict_action(features_of(windows, /*last_only=*/true).first.select(1, -1).select(1, 1)).tanh();
}

DecisionOutput DecisionTransformerImpl::forward(const DecisionWindows& windows) {
  auto [features, terms] = features_of(windows, /*last_only=*/false);
  const auto tokens = features.unbind(2);
  DecisionOutput output{.actions = predict_action(tokens[1]).tanh(), .terms = std::move(terms)};
  if (!options_.all_heads) return output;
  output.states = predict_state(tokens[2]);
  output.returns = predict_return(tokens[2]).squeeze(-1);
  return output;
}

DecisionState DecisionTransformerImpl::initial_state(int64_t batch) const { return {encoder->initial_state(batch)}; }

torch::Tensor DecisionTransformerImpl::step(const DecisionStep& now, DecisionState& state) {
  check_step(now, state);
  const torch::NoGradGuard no_grad;
  const torch::Tensor row = rows_of(torch::tensor({state.timestep}, now.states.options().dtype(at::kLong)));
  std::vector<torch::Tensor> tokens;
  if (now.previous_actions) {
    const torch::Tensor before = rows_of(torch::tensor({state.timestep - 1}, now.states.options().dtype(at::kLong)));
    tokens.push_back(embed_action(*now.previous_actions) + before);
  }
  tokens.push_back(embed_return(now.returns_to_go.unsqueeze(-1)) + row);
  tokens.push_back(embed_state(now.states) + row);
  const torch::Tensor features = encoder->step(embed_norm(at::stack(tokens, 1)), state.encoder);
  ++state.timestep;
  return predict_action(features.select(1, -1)).tanh();
}

}  // namespace primal::models
