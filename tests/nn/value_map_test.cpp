// What the attentions do to values: the map between the projection of the values and that of the output.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "nn/attention/kinds.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

using tests::close;
using torch::Tensor;

constexpr int64_t kMapWidth = 12, kMapHeads = 3, kMapTokens = 9;

AttentionOptions map_options(const std::string& kind, bool causal = false) {
  return {.kind = kind,
          .width = kMapWidth,
          .heads = kMapHeads,
          .dropout = 0.5,
          .causal = causal,
          .tokens = kMapTokens,
          .primal = {.rank = 4, .rows = 5},
          .linformer = {.rows = 5},
          .performer = {.features = 6},
          .nystrom = {.landmarks = 4, .kernel = 3},
          .window = {.tokens = 4},
          .reformer = {.chunk = 3}};
}

// In evaluation mode.
std::unique_ptr<Attention> evaluating(const AttentionOptions& options, c10::ScalarType dtype = torch::kDouble) {
  auto attention = make_attention(options);
  attention->module()->to(dtype);
  attention->module()->eval();
  return attention;
}

// Calls body with each kind that mixes values, and whether it is causal.
template <typename Body>
void for_every_value_kind(const Body& body) {
  for (const std::string& kind : attention_kinds()) {
    if (kind == "primal") continue;
    for (const bool causal : {false, true}) {
      const bool both_ways = kind == "cosine" || kind == "linformer" || kind == "nystrom" || kind == "reformer";
      if (causal && both_ways) continue;
      SCOPED_TRACE(kind + (causal ? ", causal" : ""));
      torch::manual_seed(4);
      body(map_options(kind, causal));
    }
  }
}

Tensor map_projection(const Attention& attention, const char* name, const Tensor& x) {
  const auto parameters = attention.module()->named_parameters();
  const Tensor* bias = parameters.find(std::string(name) + ".bias");
  return at::linear(x, parameters[std::string(name) + ".weight"],
                    bias != nullptr ? std::optional(*bias) : std::nullopt);
}

Tensor values_in_heads(const Tensor& x) {
  return x.view({x.size(0), x.size(1), kMapHeads, kMapWidth / kMapHeads}).transpose(1, 2);
}

// The whole layer around the map.
Tensor forward_by_map(Attention& attention, const Tensor& x, const std::optional<Tensor>& padding) {
  const Tensor mixed =
      attention.value_map(x, padding)(values_in_heads(map_projection(attention, "v_proj", x)).contiguous());
  return map_projection(attention, "out_proj", mixed.transpose(1, 2).reshape(x.sizes()));
}

TEST(ValueMap, IsWhatTheForwardPassDoesBetweenItsProjections) {
  const torch::NoGradGuard no_grad;
  const Tensor padding = padding_mask(torch::tensor({9, 6}), kMapTokens), real = padding.logical_not().unsqueeze(-1);
  for_every_value_kind([&](const AttentionOptions& options) {
    const auto attention = evaluating(options);
    const Tensor x = torch::randn({2, kMapTokens, kMapWidth}, torch::kDouble);
    EXPECT_TRUE(close(forward_by_map(*attention, x, std::nullopt), attention->forward(x, std::nullopt).out, 1e-10));
    EXPECT_TRUE(close(forward_by_map(*attention, x, padding) * real, attention->forward(x, padding).out * real, 1e-10));
  });
}

TEST(ValueMap, IsLinearAndTheSameEveryTime) {
  const torch::NoGradGuard no_grad;
  for_every_value_kind([&](const AttentionOptions& options) {
    const auto attention = evaluating(options);
    const ValueMap map = attention->value_map(torch::randn({2, kMapTokens, kMapWidth}, torch::kDouble), std::nullopt);
    const std::vector<int64_t> shape{2, kMapHeads, kMapTokens, kMapWidth / kMapHeads};
    const Tensor u = torch::randn(shape, torch::kDouble), v = torch::randn(shape, torch::kDouble);
    EXPECT_TRUE(close(map(2 * u - v), 2 * map(u) - map(v), 1e-9));
    EXPECT_TRUE(tests::same(map(u), map(u)));  // no dropout in evaluation mode
  });
}

TEST(ValueMap, APrimalAttentionHasNone) {
  EXPECT_FALSE(evaluating(map_options("primal"))
                   ->value_map(torch::randn({1, kMapTokens, kMapWidth}, torch::kDouble), std::nullopt));
}

struct UnderAutocast {
  UnderAutocast() { at::autocast::set_autocast_enabled(at::kCPU, true); }
  ~UnderAutocast() { at::autocast::set_autocast_enabled(at::kCPU, false); }
};

TEST(ValueMap, KeepsTheDigitsOfValuesWhateverTheLayerComputesIn) {
  const torch::NoGradGuard no_grad;
  for_every_value_kind([&](const AttentionOptions& options) {
    const auto attention = evaluating(options, torch::kFloat);
    const Tensor x = torch::randn({1, kMapTokens, kMapWidth});
    const Tensor ones = torch::ones({1, kMapHeads, kMapTokens, kMapWidth / kMapHeads}) / 3;
    const Tensor under_autocast = [&] {
      const UnderAutocast autocast;
      return attention->value_map(x, std::nullopt)(ones);
    }();
    EXPECT_EQ(under_autocast.scalar_type(), torch::kFloat);
    if (options.kind != "softmax") return;
    EXPECT_TRUE(close(under_autocast, ones, 1e-6));  // its weights add up to 1
  });
}

}  // namespace
}  // namespace primal::nn
