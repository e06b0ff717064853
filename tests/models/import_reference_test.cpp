#include "primal/import_reference.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/reference_examples.h"
#include "primal/error.h"

namespace primal {
namespace {

using namespace tests;
using torch::Tensor;

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
