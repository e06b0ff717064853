// What the tests of the attentions share: the worked example, the golden files, gradients by finite differences.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "nn/attention/value_mixing.h"
#include "primal/safetensors.h"
#include "support/tensors.h"

namespace primal::nn::rivals {

using torch::Tensor;

constexpr double kSixDigits = 6e-7;  // of the worked examples

/// (((7k + offset) mod 11) - 5) / 10 for the row-major index k
inline Tensor grid(at::IntArrayRef shape, int64_t offset) {
  const int64_t numbers = c10::multiply_integers(shape);
  return ((torch::arange(numbers) * 7 + offset).remainder(11) - 5).to(torch::kDouble).div(10).view(shape);
}

/// One sample and one head of 8 tokens and 2 channels.
inline Heads example() {
  return {.q = 2 * grid({1, 1, 8, 2}, 1), .k = 2 * grid({1, 1, 8, 2}, 3), .v = 2 * grid({1, 1, 8, 2}, 6)};
}

/// The last two of its tokens are padded.
inline Tensor two_padded() { return torch::arange(8).ge(6).view({1, 8}); }

/// The rows of a printed result, as [1, 1, 8, 2]
inline Tensor printed(const std::vector<double>& values) {
  return torch::tensor(values, torch::kDouble).view({1, 1, 8, 2});
}

/// float64, the same for the same seed
inline Heads random_heads(int64_t batch, int64_t heads, int64_t tokens, int64_t width, uint64_t seed = 3) {
  torch::manual_seed(seed);
  const auto numbers = [&] { return torch::randn({batch, heads, tokens, width}, torch::kDouble); };
  return {.q = numbers(), .k = numbers(), .v = numbers()};
}

inline Heads narrowed(const Heads& heads, int64_t axis, int64_t begin, int64_t length) {
  const auto part = [&](const Tensor& x) { return x.narrow(axis, begin, length); };
  return {.q = part(heads.q), .k = part(heads.k), .v = part(heads.v)};
}

using Mix = std::function<Tensor(const Heads&, const std::optional<Tensor>& padding)>;

/// The softmax attention, as plain as its formula.
inline Tensor plain_softmax_attention(const Heads& heads) {
  const double scale = 1 / std::sqrt(static_cast<double>(heads.q.size(3)));
  return (heads.q.matmul(heads.k.transpose(-1, -2)) * scale).softmax(-1).matmul(heads.v);
}

inline SafetensorsFile golden_attention(const std::string& name) {
  return load_safetensors(std::filesystem::path(PRIMAL_GOLDEN_DIR) / "attention" /
                          ("attention_" + name + ".safetensors"));
}

/// Output and gradients of a published layer. parameters: names of tensors of the file, which mix gets by reference
/// beforehand and whose gradients the file has too.
inline void expect_golden(const SafetensorsFile& file, const Mix& mix,
                          const std::vector<std::string>& parameters = {}) {
  const auto leaf = [&](const char* name) { return file.tensors.at(name).clone().requires_grad_(); };
  const Heads heads{.q = leaf("q"), .k = leaf("k"), .v = leaf("v")};
  const auto mask = file.tensors.find("mask");  // absent where the published code knows none
  const Tensor out = mix(heads, mask == file.tensors.end() ? std::nullopt : std::optional(mask->second == 0));
  (out * file.tensors.at("w")).mean().backward();
  EXPECT_TRUE(tests::close(out, file.tensors.at("out"), 1e-11));
  // Gradients are small: of a mean.
  const auto expect_gradient = [&](const std::string& name, const Tensor& actual) {
    SCOPED_TRACE(name);
    const Tensor expected = file.tensors.at("grad." + name);
    const double scale = expected.abs().max().item<double>();
    EXPECT_TRUE(tests::close(actual / scale, expected / scale, 1e-11));
  };
  expect_gradient("q", heads.q.grad());
  expect_gradient("k", heads.k.grad());
  expect_gradient("v", heads.v.grad());
  for (const std::string& name : parameters) expect_gradient(name, file.tensors.at("param." + name).grad());
}

/// Autograd against central differences, for q, k and v.
inline void expect_gradients(const Mix& mix, const Heads& at, const std::optional<Tensor>& padding = {}) {
  const Tensor weights = torch::randn_like(at.v);
  const auto loss = [&](const Heads& heads) { return (mix(heads, padding) * weights).sum(); };
  const Heads leaves{
      .q = at.q.clone().requires_grad_(), .k = at.k.clone().requires_grad_(), .v = at.v.clone().requires_grad_()};
  loss(leaves).backward();
  for (const auto part : {&Heads::q, &Heads::k, &Heads::v}) {
    const auto moved = [&](const Tensor& x) {
      Heads heads = at;
      heads.*part = x;
      return loss(heads).item<double>();
    };
    EXPECT_TRUE(tests::close((leaves.*part).grad(), tests::numeric_gradient(moved, at.*part), 1e-6));
  }
}

/// A permutation of the tokens permutes the outputs.
inline void expect_order_does_not_matter(const Mix& mix) {
  const Heads heads = random_heads(2, 3, 11, 4);
  const Tensor order = torch::randperm(11), padding = torch::rand({2, 11}) < 0.3;
  const auto permuted = [&](const Tensor& x) { return x.index_select(2, order); };
  const Tensor out =
      mix({.q = permuted(heads.q), .k = permuted(heads.k), .v = permuted(heads.v)}, padding.index_select(1, order));
  EXPECT_TRUE(tests::close(out, permuted(mix(heads, padding)), 1e-12));
}

/// Outputs of 7 tokens are those of the tokens alone: whatever is padded behind them, and whatever else is in the
/// batch.
inline void expect_padding_leaves_no_trace(const Mix& mix) {
  const Heads heads = random_heads(3, 2, 12, 4);
  const Tensor padding = torch::arange(12).unsqueeze(0) >= torch::tensor({12, 7, 0}).unsqueeze(1);
  const Tensor out = mix(heads, padding), none = torch::zeros({1, 7}, torch::kBool);
  const Tensor alone = mix(narrowed(narrowed(heads, 0, 1, 1), 2, 0, 7), std::nullopt);
  EXPECT_TRUE(tests::close(out.narrow(0, 1, 1).narrow(2, 0, 7), alone, 1e-12));
  EXPECT_TRUE(tests::close(mix(narrowed(narrowed(heads, 0, 1, 1), 2, 0, 7), none), alone, 1e-12));
  EXPECT_TRUE(tests::close(out.narrow(0, 0, 1), mix(narrowed(heads, 0, 0, 1), std::nullopt), 1e-12));
}

/// A sample without any token gives numbers, and gradients that are numbers, and leaves the others alone.
inline void expect_no_nan_without_tokens(const Mix& mix) {
  const Heads numbers = random_heads(2, 2, 6, 4);
  const Heads heads{.q = numbers.q.requires_grad_(), .k = numbers.k.requires_grad_(), .v = numbers.v.requires_grad_()};
  const Tensor padding = torch::tensor({true, false}).unsqueeze(1).expand({2, 6});
  const Tensor out = mix(heads, padding);
  EXPECT_TRUE(out.isfinite().all().item<bool>());
  out.square().sum().backward();
  for (const Tensor& x : {heads.q, heads.k, heads.v}) EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
  EXPECT_EQ(heads.v.grad()[0].abs().max().item<double>(), 0);
  EXPECT_GT(heads.v.grad()[1].abs().max().item<double>(), 0);
}

/// The same value everywhere is a mean of itself.
inline void expect_means(const Mix& mix) {
  Heads heads = random_heads(2, 3, 10, 4);
  heads.v = torch::tensor({1.5, -2.0, 0.25, 3.0}, torch::kDouble).expand({2, 3, 10, 4}).contiguous();
  EXPECT_TRUE(tests::close(mix(heads, std::nullopt), heads.v, 1e-5));
}

}  // namespace primal::nn::rivals
