// Published weights of every kind, with random values, and what they should become.
#pragma once

#include <torch/types.h>

#include <functional>
#include <string>
#include <vector>

#include "primal/import_reference.h"

namespace primal::tests {

using Shape = std::vector<int64_t>;
using torch::Tensor;

constexpr int64_t D = 12, H = 3, d = 4, s = 2, n = 5, M = 7, L = 6, C = 3, V = 9;

/// Published weights, and what they should become.
struct Example {
  StateDict published, ours;

  Tensor publish(const std::string& name, const Shape& shape) {
    return published[name] = torch::randn(shape, torch::kDouble);
  }
  void tensor(
      const std::string& name, const Shape& shape, const std::string& our_name,
      const std::function<Tensor(Tensor)>& change = [](Tensor t) { return t; }) {
    ours[our_name] = change(publish(name, shape));
  }
  void linear(const std::string& name, const std::string& our_name, int64_t out, int64_t in) {
    tensor(name + ".weight", {out, in}, our_name + ".weight");
    tensor(name + ".bias", {out}, our_name + ".bias");
  }
  void norm(const std::string& name, const std::string& our_name) {
    tensor(name + ".weight", {D}, our_name + ".weight");
    tensor(name + ".bias", {D}, our_name + ".bias");
  }
  void conv(const std::string& name, const std::string& our_name, int64_t out, int64_t in) {
    tensor(name + ".weight", {out, in, 1}, our_name + ".weight", [](Tensor t) { return t.squeeze(2); });
    tensor(name + ".bias", {out}, our_name + ".bias");
  }
  void transposed_linear(const std::string& name, const std::string& our_name, int64_t out, int64_t in) {
    tensor(name + ".weight", {in, out}, our_name + ".weight", [](Tensor t) { return t.t(); });
    tensor(name + ".bias", {out}, our_name + ".bias");
  }
  /// `axis` of the weight holds one block of D for each letter of `parts`.
  void fused(const std::string& name, const std::string& parts, int64_t axis) {
    const auto count = static_cast<int64_t>(parts.size());
    const Tensor weight = publish(name + ".weight", axis == 0 ? Shape{count * D, D} : Shape{D, count * D});
    const Tensor bias = publish(name + ".bias", {count * D});
    for (int64_t i = 0; i < count; ++i) {
      const std::string ours_i = parts[static_cast<size_t>(i)] + std::string("_proj");
      const Tensor part = weight.slice(axis, i * D, (i + 1) * D);
      ours[ours_i + ".weight"] = axis == 0 ? part : part.t();
      ours[ours_i + ".bias"] = bias.slice(0, i * D, (i + 1) * D);
    }
  }
  void scores(const std::string& we, const std::string& wr, const std::string& inner, int64_t rows) {
    tensor(we, {H, rows, s}, "we");
    tensor(wr, {H, rows, s}, "wr");
    tensor(inner + "Lambda", {H, s}, "lam");
    linear(inner + "concate_weight", "score_proj", d, 2 * s);
  }
  void add(const Example& other, const std::string& prefix, const std::string& our_prefix) {
    for (const auto& [name, value] : other.published) published[prefix + name] = value;
    for (const auto& [name, value] : other.ours) ours[our_prefix + name] = value;
  }
};

inline Example projections(const std::string& q, const std::string& k, const std::string& v, const std::string& out) {
  Example layer;
  layer.linear(q, "q_proj", D, D);
  layer.linear(k, "k_proj", D, D);
  if (!v.empty()) layer.linear(v, "v_proj", D, D);
  layer.linear(out, "out_proj", D, D);
  return layer;
}

inline Example primal_layer(const std::string& kind) {
  Example layer;
  if (kind == "time_series") {
    layer = projections("query_projection", "key_projection", "", "out_projection");
    layer.scores("We", "Wr", "inner_attention.", n);
  } else if (kind == "lra") {
    layer = projections("W_q", "W_k", "", "ff");
    layer.scores("We", "Wr", "attn.", n);
  } else if (kind == "rl") {
    layer = projections("query_projection", "key_projection", "", "out_projection");
    layer.scores("We", "Wr", "", d);
  } else if (kind == "vision") {
    layer.fused("qk", "qk", 0);
    layer.linear("proj", "out_proj", D, D);
    layer.scores("we", "wr", "", n);
  } else {
    layer = projections("q_proj", "k_proj", "", "out_proj");
    layer.scores("We", "Wr", "", d);
  }
  return layer;
}

inline Example softmax_layer(const std::string& kind) {
  if (kind == "time_series") {
    return projections("query_projection", "key_projection", "value_projection", "out_projection");
  }
  if (kind == "lra") return projections("W_q", "W_k", "W_v", "ff");
  if (kind == "language") return projections("q_proj", "k_proj", "v_proj", "out_proj");
  Example layer;
  if (kind == "vision") {
    layer.fused("qkv", "qkv", 0);
    layer.linear("proj", "out_proj", D, D);
  } else {
    layer.fused("c_attn", "qkv", 1);
    layer.transposed_linear("c_proj", "out_proj", D, D);
    layer.publish("bias", {1, 1, L, L});
    layer.publish("masked_bias", {});
  }
  return layer;
}

struct BlockNames {
  std::string prefix, softmax, primal, norm1, norm2, linear1, linear2;
};

inline BlockNames block_names(const std::string& kind) {
  if (kind == "time_series") {
    return {"encoder.attn_layers.", "attention.", "attention.", "norm1", "norm2", "conv1", "conv2"};
  }
  if (kind == "lra") return {"model.transformer_", "mha.", "mha.", "norm1", "norm2", "mlpblock.0", "mlpblock.3"};
  if (kind == "rl") return {"transformer.h.", "attn.", "attn.att.", "ln_1", "ln_2", "mlp.c_fc", "mlp.c_proj"};
  if (kind == "vision") return {"blocks.", "attn.", "attn.", "norm1", "norm2", "mlp.fc1", "mlp.fc2"};
  return {"decoder.layers.", "self_attn.", "self_attn.", "self_attn_layer_norm", "final_layer_norm", "fc1", "fc2"};
}

inline void add_block(Example& model, const std::string& kind, int number, bool primal) {
  const BlockNames names = block_names(kind);
  Example block;
  block.add(primal ? primal_layer(kind) : softmax_layer(kind), primal ? names.primal : names.softmax, "attention.");
  block.norm(names.norm1, "norm1");
  block.norm(names.norm2, "norm2");
  const auto add_linear = kind == "time_series" ? &Example::conv
                          : kind == "rl"        ? &Example::transposed_linear
                                                : &Example::linear;
  (block.*add_linear)(names.linear1, "linear1", M, D);
  (block.*add_linear)(names.linear2, "linear2", D, M);
  model.add(block, names.prefix + std::to_string(number) + ".", "encoder.layers." + std::to_string(number) + ".");
}

inline void add_outside_of_blocks(Example& model, const std::string& kind) {
  if (kind == "time_series") {
    model.linear("project_inp", "embedding", D, 2);
    model.tensor("pos_enc.pe", {L, 1, D}, "positions", [](Tensor t) { return t.squeeze(1); });
    model.norm("encoder.norm", "encoder.norm");
    model.linear("output_layer", "head", C, L * D);
  } else if (kind == "lra") {
    model.tensor("model.embeddings.word_embeddings.weight", {V, D}, "tokens.weight");
    model.tensor("model.embeddings.position_embeddings.weight", {L, D}, "positions");
    model.norm("model.norm", "encoder.norm");
    model.linear("seq_classifer.mlpblock.0", "head.linear1", 8, 4 * D);
    model.linear("seq_classifer.mlpblock.2", "head.linear2", C, 8);
  } else if (kind == "rl") {
    model.tensor("embed_timestep.weight", {10, D}, "embed_timestep.weight");
    model.linear("embed_return", "embed_return", D, 1);
    model.linear("embed_state", "embed_state", D, 5);
    model.linear("embed_action", "embed_action", D, 2);
    model.norm("embed_ln", "embed_norm");
    model.norm("transformer.ln_f", "encoder.norm");
    model.linear("predict_state", "predict_state", 5, D);
    model.linear("predict_action.0", "predict_action", 2, D);
    model.linear("predict_return", "predict_return", 1, D);
    model.publish("transformer.wte.weight", {1, D});
  } else if (kind == "vision") {
    model.tensor("cls_token", {1, 1, D}, "class_token", [](Tensor t) { return t.flatten(); });
    model.tensor("pos_embed", {1, L, D}, "positions", [](Tensor t) { return t.squeeze(0); });
    model.tensor("patch_embed.proj.weight", {D, 3, 2, 2}, "patches.weight");
    model.tensor("patch_embed.proj.bias", {D}, "patches.bias");
    model.norm("norm", "encoder.norm");
    model.linear("head", "head", C, D);
  } else {
    model.tensor("decoder.embed_tokens.weight", {V, D}, "tokens.weight");
    model.published["decoder.output_projection.weight"] = model.ours["tokens.weight"].clone();
    model.publish("decoder.version", {1});
    model.norm("decoder.layer_norm", "encoder.norm");
  }
}

/// One block for each letter of `blocks`: s softmax, p primal.
inline Example whole_model(const std::string& kind, const std::string& blocks = "sp") {
  Example model;
  add_outside_of_blocks(model, kind);
  for (size_t i = 0; i < blocks.size(); ++i) add_block(model, kind, static_cast<int>(i), blocks[i] == 'p');
  return model;
}

}  // namespace primal::tests
