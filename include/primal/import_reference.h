// import_reference: weights of the published research code under the parameter names of this library.
//
//   primal::StateDict published = ...;  // names and tensors of a published checkpoint
//   auto model = primal::import_reference(published, "time_series");
//   model.at("encoder.layers.0.attention.q_proj.weight");
//   auto layer = primal::import_reference(published_layer, "lra");  // keys W_q.weight, We, attn.Lambda, ...
//   layer.at("lam");
#pragma once

#include <torch/types.h>

#include <map>
#include <string>

#include "primal/export.h"

namespace primal {

using StateDict = std::map<std::string, torch::Tensor>;

/// Renames and reshapes the parameters of a whole model, or of one attention layer (names relative to the layer).
/// Which of the two it is, and which layers are primal and which softmax, is found from the keys.
/// docs/parameter-names.md lists all names.
///
/// kind: "time_series", "lra", "rl", "vision" or "language", the five published code bases.
///
/// Names and shapes of an attention layer (linear weights are [out, in]):
///   both     q_proj, k_proj, out_proj: weight [D, D], bias [D]
///   primal   we, wr [H, n, s] ([H, d, s] for the causal kinds rl and language), lam [H, s],
///            score_proj: weight [d, 2s], bias [d]
///   softmax  v_proj: weight [D, D], bias [D]
///
/// A prefix "module." shared by all keys is removed. The tensors keep their dtype and device, are contiguous and
/// detached; those that need no split or transpose share memory with the given ones.
///
/// Throws primal::Error for an unknown kind, missing or unknown keys (all of them in one message), gaps in the layer
/// numbers, shapes that do not fit each other, and an output projection that is not tied to the token embedding.
PRIMAL_API StateDict import_reference(const StateDict& reference, const std::string& kind);

}  // namespace primal
