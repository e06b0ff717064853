// The published Decision Transformer with a primal layer: values and gradients.
#include "tasks/offline_rl/golden.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace primal::tasks {
namespace {

GoldenFile golden_decision() {
  const std::filesystem::path path = std::filesystem::path(PRIMAL_GOLDEN_DIR) / "decision_primal_plus.safetensors";
  return {path, load_safetensors(path)};
}

double largest(const at::Tensor& x) { return x.abs().max().item<double>(); }

TEST(GoldenDecision, ValuesAndGradientsAreThoseOfThePublishedCode) {
  const GoldenFile file = golden_decision();
  const std::set<std::string> zeros = file.zero_gradients("rl");
  const Tensors expected = expected_golden_decision(file);
  for (const auto& [dtype, tolerance] : {std::pair{at::kDouble, 1e-11}, {at::kFloat, 1e-5}}) {
    const Tensors computed = computed_golden_decision(file, dtype);
    EXPECT_EQ(expected.size(), computed.size());
    for (const auto& [name, value] : expected) {
      ASSERT_TRUE(computed.contains(name)) << name;
      const at::Tensor ours = computed.at(name).to(at::kDouble);
      ASSERT_EQ(ours.sizes(), value.sizes()) << name;
      const double scale = zeros.contains(name) ? 1 : std::max(largest(value), 1e-6);
      EXPECT_LE(largest(ours - value), tolerance * scale) << name;
    }
  }
}

// Their gradients are the middle thirds of published tensors, so that the file cannot name them.
TEST(GoldenDecision, KeyBiasesOfSoftmaxLayersHaveNoGradientButRounding) {
  EXPECT_EQ(golden_decision().zero_gradients("rl"),
            (std::set<std::string>{"grad.encoder.layers.0.attention.k_proj.bias",
                                   "grad.encoder.layers.1.attention.k_proj.bias"}));
}

TEST(GoldenDecision, HeadsThatTheLossDoesNotReachHaveNoGradient) {
  const Tensors computed = computed_golden_decision(golden_decision(), at::kDouble);
  for (const char* name : {"grad.predict_state.weight", "grad.predict_state.bias", "grad.predict_return.weight",
                           "grad.predict_return.bias"}) {
    EXPECT_FALSE(computed.at(name).any().item<bool>()) << name;
  }
}

}  // namespace
}  // namespace primal::tasks
