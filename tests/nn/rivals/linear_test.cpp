#include "nn/attention/linear.h"

#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/kernel_sums.h"
#include "nn/rivals/cases.h"
#include "nn/rivals/decoding.h"
#include "support/errors.h"

namespace primal::nn::rivals {
namespace {

using tests::close;

Tensor unnormalised(const Heads& heads, const std::optional<Tensor>& padding, Masking masking) {
  return unnormalised_attention(positive_features(heads.q), positive_features(heads.k), heads.v, padding, masking);
}

Mix normalised(bool causal) {
  return [causal](const Heads& heads, const std::optional<Tensor>& padding) {
    return linear_attention(heads, padding, causal);
  };
}

Mix divided_by_root(Masking masking) {
  return [masking](const Heads& heads, const std::optional<Tensor>& padding) {
    return unnormalised(heads, padding, masking);
  };
}

TEST(LinearAttention, GivesThePublishedNumbers) {
  expect_golden(golden_attention("linear"), divided_by_root(Masking::published));
}

TEST(LinearAttention, GivesTheWorkedExamples) {
  EXPECT_TRUE(close(unnormalised(example(), two_padded(), Masking::published),
                    printed({.508702, -1.223160, .443682, -.235456, .766506, -.434905, 1.140990, -.810957,  //
                             .592072, -1.373283, .541914, -.287587, .885995, -.538230, .433568, -1.071883}),
                    kSixDigits));
  EXPECT_TRUE(close(linear_attention(example(), two_padded()),
                    printed({.112874, -.271401, .168096, -.089206, .166501, -.094470, .160548, -.114109,  //
                             .114582, -.265767, .168096, -.089206, .164792, -.100109, .111548, -.275774}),
                    kSixDigits));
  EXPECT_TRUE(close(linear_attention(example(), std::nullopt, /*causal=*/true),
                    printed({.2, -.6, .487825, -.312175, -.060944, .072731, -.083837, -.151412,  //
                             -.023756, -.338538, .168096, -.089206, -.000181, .094053, -.013833, -.203125}),
                    kSixDigits));
}

TEST(LinearAttention, DividesByTheRootOfTheTokensThatCount) {
  const Tensor right = unnormalised(example(), two_padded(), Masking::right);
  const Tensor published = unnormalised(example(), two_padded(), Masking::published);
  EXPECT_TRUE(close(right * std::sqrt(6.0), published * std::sqrt(8.0), 1e-12));
}

TEST(LinearAttention, GradientsAreThoseOfFiniteDifferences) {
  const Tensor padding = torch::tensor({{false, false, true, false, true}});
  for (const bool causal : {false, true}) expect_gradients(normalised(causal), random_heads(1, 2, 5, 3), padding);
  expect_gradients(divided_by_root(Masking::right), random_heads(1, 2, 5, 3), padding);
}

TEST(LinearAttention, KeepsWhatEveryRivalShould) {
  for (const Mix& mix : {normalised(false), divided_by_root(Masking::right)}) {
    expect_order_does_not_matter(mix);
    expect_padding_leaves_no_trace(mix);
    expect_no_nan_without_tokens(mix);
  }
  expect_padding_leaves_no_trace(normalised(true));
  expect_no_nan_without_tokens(normalised(true));
  for (const bool causal : {false, true}) expect_means(normalised(causal));
}

TEST(LinearAttention, StepsEqualTheWholePass) {
  expect_steps_equal_the_pass({.kind = "linear", .width = 12, .heads = 3, .causal = true});
}

TEST(LinearAttention, TheUnnormalisedFormIsNotCausal) {
  const AttentionOptions options{.kind = "linear", .width = 8, .causal = true, .linear = {.normalised = false}};
  EXPECT_EQ(tests::error_of([&] { make_linear_attention(options); }),
            "linear_attention: only the normalised form can be causal");
}

// One after another. a, b: [B, H, N, f]; v: [B, H, N, e]
Tensor plain_sums_over_past(const Tensor& a, const Tensor& b, const Tensor& v) {
  return a.matmul(b.transpose(-1, -2)).tril().matmul(v);
}

TEST(KernelSums, OfThePastAreTheLowerTriangleAtAnyLength) {
  torch::manual_seed(1);
  for (const int64_t tokens : {0, 1, 63, 64, 65, 200}) {
    const Tensor a = torch::rand({2, 3, tokens, 5}, torch::kDouble), b = torch::rand({2, 3, tokens, 5}, torch::kDouble);
    const Tensor v = torch::randn({2, 3, tokens, 4}, torch::kDouble);
    EXPECT_TRUE(close(sums_over_past(a, b, v), plain_sums_over_past(a, b, v), 1e-12)) << tokens;
  }
}

TEST(KernelSums, GoOnFromWhereTheyStopped) {
  torch::manual_seed(1);
  const Tensor a = torch::rand({2, 3, 150, 5}, torch::kDouble), b = torch::rand({2, 3, 150, 5}, torch::kDouble);
  const Tensor v = torch::randn({2, 3, 150, 4}, torch::kDouble);
  Tensor sum;
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (const int64_t more : {1, 70, 0, 79}) {
    const auto part = [&](const Tensor& x) { return x.narrow(2, begin, more); };
    parts.push_back(sums_over_past(part(a), part(b), part(v), &sum));
    begin += more;
  }
  EXPECT_TRUE(close(at::cat(parts, 2), plain_sums_over_past(a, b, v), 1e-12));
  EXPECT_TRUE(close(sum, b.transpose(-1, -2).matmul(v), 1e-12));
}

TEST(KernelSums, OfThePastHaveTheGradientOfTheLowerTriangle) {
  torch::manual_seed(1);
  const auto leaf = [](int64_t width) { return torch::randn({1, 2, 130, width}, torch::kDouble).requires_grad_(); };
  const Tensor a = leaf(3), b = leaf(3), v = leaf(2), weights = torch::randn({1, 2, 130, 2}, torch::kDouble);
  const auto gradients = [&](const Tensor& sums) { return torch::autograd::grad({(sums * weights).sum()}, {a, b, v}); };
  const auto actual = gradients(sums_over_past(a, b, v)), expected = gradients(plain_sums_over_past(a, b, v));
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(close(actual[i], expected[i], 1e-12));
}

}  // namespace
}  // namespace primal::nn::rivals
