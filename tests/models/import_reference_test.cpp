#include "primal/import_reference.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "primal/error.h"

namespace primal {
namespace {

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

Example projections(const std::string& q, const std::string& k, const std::string& v, const std::string& out) {
  Example layer;
  layer.linear(q, "q_proj", D, D);
  layer.linear(k, "k_proj", D, D);
  if (!v.empty()) layer.linear(v, "v_proj", D, D);
  layer.linear(out, "out_proj", D, D);
  return layer;
}

Example primal_layer(const std::string& kind) {
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

Example softmax_layer(const std::string& kind) {
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

BlockNames block_names(const std::string& kind) {
  if (kind == "time_series") {
    return {"encoder.attn_layers.", "attention.", "attention.", "norm1", "norm2", "conv1", "conv2"};
  }
  if (kind == "lra") return {"model.transformer_", "mha.", "mha.", "norm1", "norm2", "mlpblock.0", "mlpblock.3"};
  if (kind == "rl") return {"transformer.h.", "attn.", "attn.att.", "ln_1", "ln_2", "mlp.c_fc", "mlp.c_proj"};
  if (kind == "vision") return {"blocks.", "attn.", "attn.", "norm1", "norm2", "mlp.fc1", "mlp.fc2"};
  return {"decoder.layers.", "self_attn.", "self_attn.", "self_attn_layer_norm", "final_layer_norm", "fc1", "fc2"};
}

void add_block(Example& model, const std::string& kind, int number, bool primal) {
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

void add_outside_of_blocks(Example& model, const std::string& kind) {
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
Example whole_model(const std::string& kind, const std::string& blocks = "sp") {
  Example model;
  add_outside_of_blocks(model, kind);
  for (size_t i = 0; i < blocks.size(); ++i) add_block(model, kind, static_cast<int>(i), blocks[i] == 'p');
  return model;
}

std::vector<std::string> names_of(const StateDict& dict) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : dict) names.push_back(name);
  return names;
}

void expect_imported(const Example& example, const std::string& kind) {
  const StateDict result = import_reference(example.published, kind);
  ASSERT_EQ(names_of(result), names_of(example.ours));
  for (const auto& [name, tensor] : result) {
    EXPECT_TRUE(torch::equal(tensor, example.ours.at(name))) << name;
    EXPECT_TRUE(tensor.is_contiguous()) << name;
  }
}

std::string error_of(const StateDict& published, const std::string& kind) {
  try {
    import_reference(published, kind);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class ImportReferenceKind : public testing::TestWithParam<std::string> {};

TEST_P(ImportReferenceKind, RenamesAWholeModel) { expect_imported(whole_model(GetParam()), GetParam()); }

TEST_P(ImportReferenceKind, FindsTheAttentionOfEveryBlockFromItsKeys) {
  for (const char* blocks : {"s", "p", "pp", "psp"}) expect_imported(whole_model(GetParam(), blocks), GetParam());
}

TEST_P(ImportReferenceKind, OrdersMoreThanTenBlocksByNumber) {
  expect_imported(whole_model(GetParam(), "sssssssssssp"), GetParam());
}

TEST_P(ImportReferenceKind, RenamesAPrimalLayerAlone) { expect_imported(primal_layer(GetParam()), GetParam()); }

TEST_P(ImportReferenceKind, RenamesASoftmaxLayerAlone) { expect_imported(softmax_layer(GetParam()), GetParam()); }

TEST_P(ImportReferenceKind, RemovesThePrefixOfDataParallel) {
  Example wrapped;
  wrapped.add(whole_model(GetParam()), "module.", "");
  expect_imported(wrapped, GetParam());
}

TEST_P(ImportReferenceKind, EveryNameOfOursComesFromARequiredKey) {
  const StateDict complete = whole_model(GetParam()).published;
  const auto optional = [](const std::string& key) {
    return key.ends_with(".attn.bias") || key.ends_with("masked_bias") || key == "transformer.wte.weight" ||
           key == "decoder.version" || key == "decoder.output_projection.weight";
  };
  for (const auto& [key, tensor] : complete) {
    StateDict reduced = complete;
    reduced.erase(key);
    const std::string expected =
        optional(key) ? "no error" : "import_reference(" + GetParam() + "): missing keys: " + key;
    EXPECT_EQ(error_of(reduced, GetParam()), expected);
  }
}

TEST_P(ImportReferenceKind, SplitTensorsCanBeChangedOneByOne) {
  const StateDict result = import_reference(softmax_layer(GetParam()).published, GetParam());
  result.at("q_proj.weight").zero_();
  EXPECT_NE(result.at("k_proj.weight").abs().sum().item<double>(), 0);
  EXPECT_NE(result.at("v_proj.weight").abs().sum().item<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(AllKinds, ImportReferenceKind,
                         testing::Values("time_series", "lra", "rl", "vision", "language"),
                         [](const auto& kind) { return kind.param; });

TEST(ImportReference, KeepsTheDtype) {
  StateDict published = softmax_layer("rl").published;
  for (auto& [name, tensor] : published) tensor = tensor.to(torch::kBFloat16);
  for (const auto& [name, tensor] : import_reference(published, "rl")) EXPECT_EQ(tensor.dtype(), torch::kBFloat16);
}

TEST(ImportReference, ResultsAreDetachedAndShareMemoryWhereNothingMoves) {
  StateDict published = primal_layer("lra").published;
  published["We"].requires_grad_();
  const StateDict result = import_reference(published, "lra");
  EXPECT_FALSE(result.at("we").requires_grad());
  EXPECT_EQ(result.at("we").data_ptr(), published["We"].data_ptr());
}

TEST(ImportReference, ViewsBecomeContiguous) {
  Example layer = primal_layer("lra");
  layer.published["W_q.weight"] = layer.published["W_q.weight"].t();
  layer.ours["q_proj.weight"] = layer.published["W_q.weight"];
  expect_imported(layer, "lra");
}

TEST(ImportReference, UnknownKindListsTheKinds) {
  EXPECT_EQ(error_of({}, "audio"),
            "import_reference: unknown kind \"audio\", expected one of time_series, lra, rl, vision, language");
}

TEST(ImportReference, MissingAndUnknownKeysAreListedTogetherAndSorted) {
  StateDict published = whole_model("lra").published;
  published.erase("model.transformer_1.mha.We");
  published.erase("model.norm.bias");
  published["model.transformer_1.mha.foo"] = published["epoch"] = torch::zeros({1});
  EXPECT_EQ(error_of(published, "lra"),
            "import_reference(lra): missing keys: model.norm.bias, model.transformer_1.mha.We; "
            "unknown keys: epoch, model.transformer_1.mha.foo");
}

TEST(ImportReference, KeysOfALayerAloneAreListedRelativeToIt) {
  StateDict published = primal_layer("lra").published;
  published.erase("We");
  published["foo"] = torch::zeros({1});
  EXPECT_EQ(error_of(published, "lra"), "import_reference(lra): missing keys: We; unknown keys: foo");
}

TEST(ImportReference, ParametersOfBothAttentionsInOneLayerAreAnError) {
  StateDict published = primal_layer("language").published;
  published["v_proj.weight"] = torch::zeros({D, D});
  EXPECT_EQ(error_of(published, "language"), "import_reference(language): unknown keys: v_proj.weight");
}

TEST(ImportReference, AnEmptyDictionaryMissesEverything) {
  const std::string message = error_of({}, "vision");
  EXPECT_TRUE(message.starts_with("import_reference(vision): missing keys: blocks.0.attn.")) << message;
  EXPECT_NE(message.find("pos_embed"), std::string::npos);
}

TEST(ImportReference, GapsInLayerNumbersAreAnError) {
  Example model = whole_model("time_series", "p");
  add_block(model, "time_series", 2, true);
  EXPECT_EQ(error_of(model.published, "time_series"),
            "import_reference(time_series): layers encoder.attn_layers.{i}.* are numbered 0, 2, "
            "expected 0..1 without gaps");
}

TEST(ImportReference, OddLayerNumbersAreUnknownKeys) {
  for (const char* number : {"01", "-1", "x", "", "99999999999999999999", "0x"}) {
    StateDict published = whole_model("vision").published;
    const std::string key = std::string("blocks.") + number + ".norm1.weight";
    published[key] = torch::zeros({D});
    EXPECT_EQ(error_of(published, "vision"), "import_reference(vision): unknown keys: " + key);
  }
}

TEST(ImportReference, OutputProjectionMustEqualTheTokenEmbedding) {
  StateDict published = whole_model("language").published;
  const std::string message =
      "import_reference(language): decoder.output_projection.weight differs from decoder.embed_tokens.weight, "
      "expected a tied copy of it";
  const Tensor copy = published["decoder.output_projection.weight"];
  published["decoder.output_projection.weight"] = copy + 1;
  EXPECT_EQ(error_of(published, "language"), message);
  published["decoder.output_projection.weight"] = copy.to(torch::kFloat);
  EXPECT_EQ(error_of(published, "language"), message);
}

TEST(ImportReference, ConvolutionsWiderThanOneStepAreAnError) {
  StateDict published = whole_model("time_series").published;
  published["encoder.attn_layers.0.conv1.weight"] = torch::zeros({M, D, 3});
  EXPECT_EQ(error_of(published, "time_series"),
            "import_reference(time_series): encoder.attn_layers.0.conv1.weight: expected shape [M, D, 1] = [7, 12, 1], "
            "given [7, 12, 3] (D = 12 as in project_inp.weight)");
}

TEST(ImportReference, FusedRowsThatDoNotDivideAreAnError) {
  StateDict published = softmax_layer("vision").published;
  published["qkv.weight"] = torch::zeros({3 * D - 1, D});
  EXPECT_EQ(error_of(published, "vision"),
            "import_reference(vision): qkv.weight: expected shape [3D, D] = [36, 12], given [35, 12]");
}

TEST(ImportReference, ShapesOfAPrimalLayerMustFitEachOther) {
  const StateDict good = primal_layer("time_series").published;
  const auto error_with = [&](const std::string& key, const Shape& shape) {
    StateDict published = good;
    published[key] = torch::zeros(shape);
    return error_of(published, "time_series");
  };
  EXPECT_EQ(error_with("inner_attention.Lambda", {H, s + 1}),
            "import_reference(time_series): inner_attention.Lambda: expected shape [H, s] = [3, 2], given [3, 3] "
            "(H = 3 as in We, s = 2 as in We)");
  EXPECT_EQ(error_with("Wr", {H, n + 1, s}),
            "import_reference(time_series): Wr: expected shape [H, n, s] = [3, 5, 2], given [3, 6, 2] "
            "(H = 3 as in We, n = 5 as in We, s = 2 as in We)");
  EXPECT_EQ(error_with("inner_attention.concate_weight.weight", {d, 2 * s + 1}),
            "import_reference(time_series): inner_attention.concate_weight.weight: expected shape [d, 2s] = [4, 4], "
            "given [4, 5] (s = 2 as in We)");
  EXPECT_EQ(error_with("We", {H, s}), "import_reference(time_series): We: expected shape [H, n, s], given [3, 2]");
}

TEST(ImportReference, HeadsTimesHeadWidthMustBeTheWidth) {
  StateDict published = primal_layer("time_series").published;
  published["inner_attention.concate_weight.weight"] = torch::zeros({d + 1, 2 * s});
  published["inner_attention.concate_weight.bias"] = torch::zeros({d + 1});
  EXPECT_EQ(
      error_of(published, "time_series"),
      "import_reference(time_series): out_projection.weight: expected shape [D, Hd] = [12, 15], given [12, 12] "
      "(D = 12 as in query_projection.weight, H = 3 as in We, d = 5 as in inner_attention.concate_weight.weight)");
}

TEST(ImportReference, CausalLayersProjectFromTheHeadWidth) {
  StateDict published = primal_layer("rl").published;
  published["We"] = published["Wr"] = torch::zeros({H, d + 1, s});
  EXPECT_EQ(error_of(published, "rl"),
            "import_reference(rl): concate_weight.weight: expected shape [d, 2s] = [5, 4], given [4, 4] "
            "(d = 5 as in We, s = 2 as in We)");
}

TEST(ImportReference, EmptyAndUndefinedTensorsAreErrors) {
  StateDict published = primal_layer("rl").published;
  published["Lambda"] = torch::zeros({H, 0});
  EXPECT_NE(error_of(published, "rl").find("Lambda: expected shape [H, s] = [3, 2], given [3, 0]"), std::string::npos);
  published["Lambda"] = Tensor();
  EXPECT_EQ(error_of(published, "rl"), "import_reference(rl): Lambda: expected a tensor, given an undefined one");
}

TEST(ImportReference, LayersOfOneModelMayHaveDifferentRanks) {
  StateDict published = whole_model("vision", "pp").published;
  const std::string layer = "blocks.1.attn.";
  published[layer + "we"] = published[layer + "wr"] = torch::zeros({H, n, s + 1});
  published[layer + "Lambda"] = torch::zeros({H, s + 1});
  published[layer + "concate_weight.weight"] = torch::zeros({d, 2 * s + 2});
  EXPECT_EQ(error_of(published, "vision"), "no error");
}

}  // namespace
}  // namespace primal
