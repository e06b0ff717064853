#include "models/reference_names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <utility>

// Symbols of the axes: D width, H heads, d head width, s rank, n sampled rows, M feed-forward width, L positions,
// C classes, F input features, V vocabulary, I and E input and hidden width of a head, T time steps, S state size,
// A action size, c image channels, P patch side.
namespace primal::reference_names {
namespace {

using Names = std::vector<std::string>;

Rules join(const std::vector<Rules>& parts) {
  Rules all;
  for (const Rules& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Names with_suffix(Names names, const std::string& suffix) {
  for (std::string& name : names) name += suffix;
  return names;
}

Rules tensor(const std::string& published, const std::string& ours, const Axes& axes,
             Transform transform = Transform::kKeep) {
  return {Rule{.published = published, .ours = {ours}, .axes = axes, .transform = transform}};
}

Rules dropped(const std::string& published) { return {Rule{.published = published, .ours = {}, .required = false}}; }

/// Optional because tools that store shared memory once leave the copy out.
Rules tied(const std::string& published, const std::string& original, const Axes& axes) {
  return {Rule{.published = published, .ours = {}, .axes = axes, .required = false, .tied_to = original}};
}

Rules weight_and_bias(const std::string& published, const Names& ours, const Axes& weight, const Axes& bias,
                      Transform transform = Transform::kKeep) {
  return {Rule{.published = published + ".weight",
               .ours = with_suffix(ours, ".weight"),
               .axes = weight,
               .transform = transform},
          Rule{.published = published + ".bias", .ours = with_suffix(ours, ".bias"), .axes = bias}};
}

Rules linear(const std::string& published, const Names& ours, const std::string& out, const std::string& in) {
  return weight_and_bias(published, ours, {out, in}, {out});
}

/// A convolution of kernel size 1 is a linear layer.
Rules pointwise(const std::string& published, const Names& ours, const std::string& out, const std::string& in) {
  return weight_and_bias(published, ours, {out, in, "1"}, {out}, Transform::kDropOnes);
}

/// GPT-2's linear layer stores its weight as [in, out].
Rules gpt2_linear(const std::string& published, const Names& ours, const std::string& out, const std::string& in) {
  return weight_and_bias(published, ours, {in, out}, {out}, Transform::kTranspose);
}

Rules norm(const std::string& published, const std::string& ours) {
  return weight_and_bias(published, {ours}, {"D"}, {"D"});
}

/// What only a primal layer has. `inner` is the prefix of the module that forms the output from the scores.
Rules scores(const std::string& we, const std::string& wr, const std::string& rows, const std::string& inner) {
  return join({tensor(we, "we", {"H", rows, "s"}), tensor(wr, "wr", {"H", rows, "s"}),
               tensor(inner + "Lambda", "lam", {"H", "s"}),
               linear(inner + "concate_weight", {"score_proj"}, "d", "2s")});
}

Kind time_series() {
  const Rules query_key =
      join({linear("query_projection", {"q_proj"}, "D", "D"), linear("key_projection", {"k_proj"}, "D", "D")});
  return {.name = "time_series",
          .model = join({linear("project_inp", {"embedding"}, "D", "F"),
                         tensor("pos_enc.pe", "positions", {"L", "1", "D"}, Transform::kDropOnes),
                         norm("encoder.norm", "encoder.norm"), linear("output_layer", {"head"}, "C", "LD")}),
          .block_prefix = "encoder.attn_layers.{i}.",
          .block = join({norm("norm1", "norm1"), norm("norm2", "norm2"), pointwise("conv1", {"linear1"}, "M", "D"),
                         pointwise("conv2", {"linear2"}, "D", "M")}),
          .attentions = {{"attention.", join({query_key, scores("We", "Wr", "n", "inner_attention."),
                                              linear("out_projection", {"out_proj"}, "D", "Hd")})},
                         {"attention.", join({query_key, linear("value_projection", {"v_proj"}, "D", "D"),
                                              linear("out_projection", {"out_proj"}, "D", "D")})}}};
}

Kind lra() {
  const Rules query_key = join({linear("W_q", {"q_proj"}, "D", "D"), linear("W_k", {"k_proj"}, "D", "D")});
  return {
      .name = "lra",
      .model = join({tensor("model.embeddings.word_embeddings.weight", "tokens.weight", {"V", "D"}),
                     tensor("model.embeddings.position_embeddings.weight", "positions", {"L", "D"}),
                     norm("model.norm", "encoder.norm"), linear("seq_classifer.mlpblock.0", {"head.linear1"}, "E", "I"),
                     linear("seq_classifer.mlpblock.2", {"head.linear2"}, "C", "E")}),
      .block_prefix = "model.transformer_{i}.",
      .block = join({norm("norm1", "norm1"), norm("norm2", "norm2"), linear("mlpblock.0", {"linear1"}, "M", "D"),
                     linear("mlpblock.3", {"linear2"}, "D", "M")}),
      .attentions = {
          {"mha.", join({query_key, scores("We", "Wr", "n", "attn."), linear("ff", {"out_proj"}, "D", "Hd")})},
          {"mha.", join({query_key, linear("W_v", {"v_proj"}, "D", "D"), linear("ff", {"out_proj"}, "D", "D")})}}};
}

Kind rl() {
  return {
      .name = "rl",
      .model =
          join({tensor("embed_timestep.weight", "embed_timestep.weight", {"T", "D"}),
                linear("embed_return", {"embed_return"}, "D", "1"), linear("embed_state", {"embed_state"}, "D", "S"),
                linear("embed_action", {"embed_action"}, "D", "A"), norm("embed_ln", "embed_norm"),
                norm("transformer.ln_f", "encoder.norm"), linear("predict_state", {"predict_state"}, "S", "D"),
                linear("predict_action.0", {"predict_action"}, "A", "D"),
                linear("predict_return", {"predict_return"}, "1", "D"), dropped("transformer.wte.weight")}),
      .block_prefix = "transformer.h.{i}.",
      .block = join({norm("ln_1", "norm1"), norm("ln_2", "norm2"), gpt2_linear("mlp.c_fc", {"linear1"}, "M", "D"),
                     gpt2_linear("mlp.c_proj", {"linear2"}, "D", "M")}),
      .attentions = {
          {"attn.att.",
           join({linear("query_projection", {"q_proj"}, "D", "D"), linear("key_projection", {"k_proj"}, "D", "D"),
                 scores("We", "Wr", "d", ""), linear("out_projection", {"out_proj"}, "D", "Hd")})},
          // bias and masked_bias are the causal mask and its fill value, not parameters.
          {"attn.", join({gpt2_linear("c_attn", {"q_proj", "k_proj", "v_proj"}, "3D", "D"),
                          gpt2_linear("c_proj", {"out_proj"}, "D", "D"), dropped("bias"), dropped("masked_bias")})}}};
}

Kind vision() {
  return {.name = "vision",
          .model = join({tensor("cls_token", "class_token", {"1", "1", "D"}, Transform::kDropOnes),
                         tensor("pos_embed", "positions", {"1", "L", "D"}, Transform::kDropOnes),
                         weight_and_bias("patch_embed.proj", {"patches"}, {"D", "c", "P", "P"}, {"D"}),
                         norm("norm", "encoder.norm"), linear("head", {"head"}, "C", "D")}),
          .block_prefix = "blocks.{i}.",
          .block = join({norm("norm1", "norm1"), norm("norm2", "norm2"), linear("mlp.fc1", {"linear1"}, "M", "D"),
                         linear("mlp.fc2", {"linear2"}, "D", "M")}),
          .attentions = {{"attn.", join({linear("qk", {"q_proj", "k_proj"}, "2D", "D"), scores("we", "wr", "n", ""),
                                         linear("proj", {"out_proj"}, "D", "Hd")})},
                         {"attn.", join({linear("qkv", {"q_proj", "k_proj", "v_proj"}, "3D", "D"),
                                         linear("proj", {"out_proj"}, "D", "D")})}}};
}

Kind language() {
  const Rules query_key = join({linear("q_proj", {"q_proj"}, "D", "D"), linear("k_proj", {"k_proj"}, "D", "D")});
  return {
      .name = "language",
      .model = join({tensor("decoder.embed_tokens.weight", "tokens.weight", {"V", "D"}),
                     tied("decoder.output_projection.weight", "decoder.embed_tokens.weight", {"V", "D"}),
                     norm("decoder.layer_norm", "encoder.norm"), dropped("decoder.version")}),
      .block_prefix = "decoder.layers.{i}.",
      .block = join({norm("self_attn_layer_norm", "norm1"), norm("final_layer_norm", "norm2"),
                     linear("fc1", {"linear1"}, "M", "D"), linear("fc2", {"linear2"}, "D", "M")}),
      .attentions = {
          {"self_attn.", join({query_key, scores("We", "Wr", "d", ""), linear("out_proj", {"out_proj"}, "D", "Hd")})},
          {"self_attn.",
           join({query_key, linear("v_proj", {"v_proj"}, "D", "D"), linear("out_proj", {"out_proj"}, "D", "D")})}}};
}

/// An axis such as "2s" or "Hd": the product of its factor and known symbols, and the symbols not known yet.
struct Product {
  int64_t known = 1;
  std::string open;
};

Product evaluate(const std::string& axis, const Sizes& sizes) {
  Product product;
  for (const char symbol : axis) {
    if (std::isdigit(static_cast<unsigned char>(symbol))) {
      product.known *= symbol - '0';
    } else if (const auto size = sizes.find(symbol); size != sizes.end()) {
      product.known *= size->second.value;
    } else {
      product.open += symbol;
    }
  }
  return product;
}

std::string listed(const std::vector<std::string>& parts) {
  const auto append = [](std::string text, const std::string& part) { return std::move(text) + ", " + part; };
  return parts.empty() ? "" : std::accumulate(parts.begin() + 1, parts.end(), parts.front(), append);
}

std::string mismatch(const Rule& rule, std::span<const int64_t> shape, const Sizes& sizes) {
  std::vector<std::string> expected, given, origins;
  for (const int64_t size : shape) given.push_back(std::to_string(size));
  for (const std::string& axis : rule.axes) {
    const Product product = evaluate(axis, sizes);
    expected.push_back(product.open.empty() ? std::to_string(product.known) : axis);
  }
  for (const auto& [symbol, size] : sizes) {
    if (listed(rule.axes).find(symbol) == std::string::npos || size.key == rule.published) continue;
    origins.push_back(std::string(1, symbol) + " = " + std::to_string(size.value) + " as in " + size.key);
  }
  return rule.published + ": expected shape [" + listed(rule.axes) + "]" +
         (expected == rule.axes ? "" : " = [" + listed(expected) + "]") + ", given [" + listed(given) + "]" +
         (origins.empty() ? "" : " (" + listed(origins) + ")");
}

}  // namespace

std::string fit_shape(const Rule& rule, std::span<const int64_t> shape, Sizes& sizes) {
  const bool empty = std::ranges::find(shape, 0) != shape.end();
  if (shape.size() != rule.axes.size() || empty) return mismatch(rule, shape, sizes);
  // Symbols that stand alone first: [3D, D] = [47, 16] means D = 16, and 47 is wrong.
  for (const bool alone : {true, false}) {
    for (size_t i = 0; i < shape.size(); ++i) {
      const Product product = evaluate(rule.axes[i], sizes);
      if ((rule.axes[i].size() == 1) != alone || product.open.size() != 1 || shape[i] % product.known != 0) continue;
      sizes[product.open.front()] = {shape[i] / product.known, rule.published};
    }
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const Product product = evaluate(rule.axes[i], sizes);
    if (!product.open.empty() || product.known != shape[i]) return mismatch(rule, shape, sizes);
  }
  return "";
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {time_series(), lra(), rl(), vision(), language()};
  return all;
}

}  // namespace primal::reference_names
