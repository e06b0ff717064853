#include <ATen/ATen.h>

#include "nn/encoder.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

std::string prefix_of_layer(size_t index) { return "layers." + std::to_string(index) + "."; }

// Those whose names begin so, without the beginning, which are taken out of `all`.
StateTensors taken(StateTensors& all, const std::string& prefix) {
  StateTensors part;
  for (auto i = all.lower_bound(prefix); i != all.end() && i->first.starts_with(prefix); i = all.erase(i)) {
    part[i->first.substr(prefix.size())] = i->second;
  }
  return part;
}

void load_mixing(TokenMixingState& state, const StateTensors& tensors) {
  for (auto [name, part] : {std::pair{"sums", &state.sums}, {"recent", &state.recent}}) {
    if (part->defined()) *part = state_tensor(tensors, name, part->scalar_type(), part->sizes());
  }
}

}  // namespace

StateTensors tensors_of(const EncoderState& state) {
  StateTensors all;
  for (size_t i = 0; i < state.layers.size(); ++i) {
    const EncoderLayerState& layer = state.layers[i];
    for (const auto& [name, tensor] : layer.attention->tensors()) {
      all[prefix_of_layer(i) + "attention." + name] = tensor;
    }
    if (layer.mixing.sums.defined()) all[prefix_of_layer(i) + "mixing.sums"] = layer.mixing.sums;
    if (layer.mixing.recent.defined()) all[prefix_of_layer(i) + "mixing.recent"] = layer.mixing.recent;
  }
  return all;
}

void load(EncoderState& state, const StateTensors& tensors) {
  StateTensors left = tensors;
  for (size_t i = 0; i < state.layers.size(); ++i) {
    state.layers[i].attention->load(taken(left, prefix_of_layer(i) + "attention."));
    load_mixing(state.layers[i].mixing, taken(left, prefix_of_layer(i) + "mixing."));
  }
  if (!left.empty()) throw Error("the state has a tensor " + left.begin()->first + " that no layer knows");
}

}  // namespace primal::nn
