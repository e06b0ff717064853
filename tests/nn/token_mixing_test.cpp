// Convolution and memory before an attention, by themselves.
#include "nn/token_mixing.h"

#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cmath>
#include <sstream>

#include "support/errors.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

using tests::close;
using tests::error_of;
using torch::Tensor;

constexpr int64_t kMixingWidth = 6;

TokenMixingOptions small_mixing(bool causal, int64_t kernel = 0, LayerMemory memory = LayerMemory::decay) {
  return {.width = kMixingWidth, .memory = memory, .scales = 3, .tokens = 50, .causal = causal, .kernel = kernel};
}

std::vector<TokenMixingOptions> causal_mixings() {
  return {small_mixing(true), small_mixing(true, 1), small_mixing(true, 4), small_mixing(true, 4, LayerMemory::none),
          small_mixing(true, 1, LayerMemory::none)};
}

// In double precision, with parameters that differ from channel to channel.
TokenMixing random_mixing(const TokenMixingOptions& options) {
  torch::manual_seed(4);
  TokenMixing mixing(options);
  mixing->to(torch::kDouble);
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : mixing->parameters()) parameter.add_(torch::randn_like(parameter), 0.3);
  return mixing;
}

Tensor mixing_tokens(int64_t batch, int64_t length) {
  return torch::randn({batch, length, kMixingWidth}, torch::kDouble);
}

// As plainly as the formulas: one sequence without padding.
Tensor plain_mixing(const TokenMixingImpl& m, const Tensor& x) {
  const TokenMixingOptions& o = m.options();
  const int64_t length = x.size(0), own = o.causal ? o.kernel - 1 : o.kernel / 2;
  Tensor u = x.clone();
  for (int64_t t = 0; o.kernel > 0 && t < length; ++t) {
    u[t].zero_();
    for (int64_t k = 0; k < o.kernel; ++k) {
      const int64_t from = t + k - own;
      if (from >= 0 && from < length) u[t] += m.taps[k] * x[from];
    }
  }
  if (o.memory == LayerMemory::none) return u;
  Tensor y = u * m.skip;
  for (int64_t r = 0; r < m.log_scale.size(0); ++r) {
    for (int64_t i = 0; i < o.scales; ++i) {
      const Tensor a = (-1 / m.log_scale[r][i].exp()).exp();
      Tensor average = torch::zeros_like(u[0]);
      for (int64_t step = 0; step < length; ++step) {
        const int64_t t = r == 0 ? step : length - 1 - step;
        average = a * average + (1 - a) * u[t];
        y[t] += m.gain[r][i] * average;
      }
    }
  }
  return y;
}

TEST(TokenMixing, IsItsFormulas) {
  const torch::NoGradGuard no_grad;
  for (const bool causal : {false, true}) {
    for (const int64_t kernel : {0, 1, 3, 5}) {
      for (const LayerMemory memory : {LayerMemory::none, LayerMemory::decay}) {
        if (memory == LayerMemory::none && kernel == 0) continue;
        SCOPED_TRACE(c10::str("causal ", causal, ", kernel ", kernel));
        TokenMixing mixing = random_mixing(small_mixing(causal, kernel, memory));
        for (const int64_t length : {1, 2, 9}) {
          const Tensor x = mixing_tokens(1, length);
          EXPECT_TRUE(close(mixing(x)[0], plain_mixing(*mixing, x[0]), 1e-12));
        }
        EXPECT_EQ(mixing(mixing_tokens(2, 0)).sizes(), torch::IntArrayRef({2, 0, kMixingWidth}));
      }
    }
  }
}

TEST(TokenMixing, StartsFromTheTokensPlusTheMeanOfTheirAverages) {
  const torch::NoGradGuard no_grad;
  TokenMixing mixing(small_mixing(/*causal=*/false, /*kernel=*/3));
  EXPECT_EQ(mixing->named_parameters().keys(), (std::vector<std::string>{"log_scale", "gain", "skip", "taps"}));
  EXPECT_EQ(mixing->log_scale.sizes(), torch::IntArrayRef({2, 3, kMixingWidth}));
  EXPECT_EQ(mixing->log_scale[1][0][0].item<double>(), 0);
  EXPECT_NEAR(mixing->log_scale[0][2][3].item<double>(), std::log(50.0) * 2.5 / 3, 1e-6);
  // Averages of a constant are the constant, but for the beginning of each direction.
  const Tensor out = mixing(torch::ones({1, 4001, kMixingWidth}));
  EXPECT_TRUE(close(out[0][2000], torch::full({kMixingWidth}, 2.0), 1e-4));
}

TEST(TokenMixing, OnlyTheConvolutionStartsAsNothing) {
  for (const bool causal : {false, true}) {
    TokenMixing mixing(small_mixing(causal, /*kernel=*/3, LayerMemory::none));
    EXPECT_EQ(mixing->named_parameters().keys(), std::vector<std::string>{"taps"});
    const Tensor x = torch::randn({2, 9, kMixingWidth});
    EXPECT_TRUE(at::equal(mixing(x), x));
  }
}

TEST(TokenMixing, StepsAreTheFullPassCutAnywhere) {
  const torch::NoGradGuard no_grad;
  const Tensor x = mixing_tokens(2, 11), padding = torch::rand({2, 11}) < 0.3;
  for (const TokenMixingOptions& options : causal_mixings()) {
    SCOPED_TRACE(c10::str("kernel ", options.kernel));
    TokenMixing mixing = random_mixing(options);
    for (const auto& mask : {std::optional<Tensor>(), std::optional<Tensor>(padding)}) {
      const Tensor full = mixing(x, mask);
      for (int64_t cut = 0; cut <= 11; ++cut) {
        TokenMixingState state = mixing->initial_state(2);
        const auto step = [&](int64_t begin, int64_t length) {
          return mixing->step(x.narrow(1, begin, length), state,
                              mask ? std::optional<Tensor>(mask->narrow(1, begin, length)) : std::nullopt);
        };
        const Tensor first = step(0, cut);
        EXPECT_TRUE(close(at::cat({first, step(cut, 11 - cut)}, 1), full, 1e-12)) << "cut at " << cut;
      }
      TokenMixingState state = mixing->initial_state(2);
      std::vector<Tensor> parts;
      for (int64_t t = 0; t < 11; ++t) {
        parts.push_back(
            mixing->step(x.narrow(1, t, 1), state, mask ? std::optional<Tensor>(mask->narrow(1, t, 1)) : std::nullopt));
      }
      EXPECT_TRUE(close(at::cat(parts, 1), full, 1e-12));
    }
  }
}

TEST(TokenMixing, PaddingInFrontOrBehindChangesNothing) {
  const Tensor x = mixing_tokens(1, 7);
  for (const bool causal : {false, true}) {
    for (const LayerMemory memory : {LayerMemory::none, LayerMemory::decay}) {
      TokenMixing mixing = random_mixing(small_mixing(causal, 3, memory));
      const auto run_with = [&](int64_t front, int64_t behind) {
        mixing->zero_grad();
        const auto filler = [&](int64_t length) {
          return torch::full({1, length, kMixingWidth}, std::nan(""), x.options());
        };
        const Tensor input = at::cat({filler(front), x, filler(behind)}, 1).requires_grad_();
        Tensor padding = torch::ones({1, input.size(1)}, torch::kBool);
        padding.narrow(1, front, 7).fill_(false);
        const Tensor out = mixing(input, padding);
        EXPECT_FALSE(out.masked_select(padding.unsqueeze(-1)).any().item<bool>());
        out.square().sum().backward();
        EXPECT_FALSE(input.grad().masked_select(padding.unsqueeze(-1)).any().item<bool>());
        std::vector<Tensor> all{out.narrow(1, front, 7).detach(), input.grad().narrow(1, front, 7)};
        for (const Tensor& parameter : mixing->parameters()) all.push_back(parameter.grad().clone());
        return all;
      };
      const auto expected = run_with(0, 0);
      for (const auto& [front, behind] : {std::pair<int64_t, int64_t>{0, 5}, {3, 0}, {200, 150}}) {
        const auto actual = run_with(front, behind);
        for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(close(actual[i], expected[i], 1e-12));
      }
    }
  }
}

TEST(TokenMixing, TimeReversalSwapsTheDirections) {
  const torch::NoGradGuard no_grad;
  TokenMixing mixing = random_mixing(small_mixing(/*causal=*/false, /*kernel=*/3));
  const Tensor x = mixing_tokens(2, 9), expected = mixing(x).flip(1);
  for (Tensor* both : {&mixing->log_scale, &mixing->gain, &mixing->taps}) both->copy_(both->flip(0).clone());
  EXPECT_TRUE(close(mixing(x.flip(1)), expected, 1e-12));
}

TEST(TokenMixing, GradientsAreThoseOfDifferences) {
  for (const bool causal : {false, true}) {
    TokenMixing mixing = random_mixing(small_mixing(causal, 3));
    const Tensor x = mixing_tokens(2, 5).requires_grad_(), weight = mixing_tokens(2, 5);
    const auto loss = [&] { return (mixing(x) * weight).sum(); };
    loss().backward();
    std::vector<Tensor> all = mixing->parameters();
    all.push_back(x);
    for (Tensor& tensor : all) {
      const torch::NoGradGuard no_grad;
      const Tensor numeric = tests::numeric_gradient(
          [&](const Tensor& at) {
            const Tensor before = tensor.clone();
            tensor.copy_(at);
            const double value = loss().item<double>();
            tensor.copy_(before);
            return value;
          },
          tensor.detach().clone());
      EXPECT_TRUE(close(tensor.grad(), numeric, 1e-6));
    }
  }
}

TEST(TokenMixing, Bfloat16IsSummedInFloat32) {
  const torch::NoGradGuard no_grad;
  TokenMixing narrow = random_mixing(small_mixing(true, 4));
  narrow->to(torch::kBFloat16);
  TokenMixing wide(std::dynamic_pointer_cast<TokenMixingImpl>(narrow->clone()));
  wide->to(torch::kFloat);
  const Tensor x = torch::randn({2, 300, kMixingWidth}).to(torch::kBFloat16);
  const Tensor out = narrow(x);
  EXPECT_EQ(out.scalar_type(), torch::kBFloat16);
  EXPECT_TRUE(close(out.to(torch::kFloat), wide(x.to(torch::kFloat)), 0.02));
}

TEST(TokenMixing, CloneSharesNothing) {
  const torch::NoGradGuard no_grad;
  TokenMixing mixing = random_mixing(small_mixing(false, 3));
  const Tensor x = mixing_tokens(2, 5), before = mixing(x);
  TokenMixing twin(std::dynamic_pointer_cast<TokenMixingImpl>(mixing->clone()));
  EXPECT_TRUE(at::equal(twin(x), before));
  mixing->reset_parameters();
  EXPECT_TRUE(at::equal(twin(x), before));
  EXPECT_FALSE(at::equal(mixing(x), before));
}

TEST(TokenMixing, RefusesWhatDoesNotFit) {
  const auto error_with = [](const TokenMixingOptions& options) { return error_of([&] { TokenMixing{options}; }); };
  EXPECT_EQ(error_with({}), "token_mixing: width must be at least 1, got 0");
  EXPECT_EQ(error_with({.width = 4, .scales = 0}), "token_mixing: scales must be at least 1, got 0");
  EXPECT_EQ(error_with({.width = 4, .tokens = 0}), "token_mixing: tokens must be at least 1, got 0");
  EXPECT_EQ(error_with({.width = 4, .kernel = -1}), "token_mixing: kernel must be at least 0, got -1");
  EXPECT_EQ(error_with({.width = 4, .kernel = 4}),
            "token_mixing: a kernel that looks both ways must be odd, so that its token stands in the middle, got 4");
  EXPECT_EQ(error_with({.width = 4, .memory = LayerMemory::none}),
            "token_mixing: neither a memory nor a kernel: there is nothing to mix");
  TokenMixing causal = random_mixing(small_mixing(true, 3)), both = random_mixing(small_mixing(false));
  EXPECT_EQ(error_of([&] { both->initial_state(2); }), "token_mixing: only a causal mixing has a state");
  EXPECT_EQ(error_of([&] { both(torch::randn({2, 3, 5})); }), "token_mixing: expected tokens [B, N, 6], got [2, 3, 5]");
  EXPECT_EQ(error_of([&] {
              both(torch::randn({2, 3, 6}), torch::zeros({2, 4}, torch::kBool));
            }),
            "token_mixing: expected a bool padding mask [2, 3], got Bool [2, 4]");
  TokenMixingState state = causal->initial_state(3), none;
  EXPECT_EQ(error_of([&] { causal->step(mixing_tokens(2, 1), state); }),
            "token_mixing: state recent must be [2, 2, 6], got [3, 2, 6]");
  EXPECT_EQ(error_of([&] { causal->step(mixing_tokens(2, 1), none); }), "token_mixing: the state has no recent");
}

TEST(TokenMixing, PrintsItsOptions) {
  std::ostringstream text;
  text << TokenMixing(small_mixing(true, 4)) << TokenMixing(small_mixing(false, 3, LayerMemory::none));
  EXPECT_EQ(text.str(),
            "primal::nn::TokenMixing(width=6, memory=decay, scales=3, tokens=50, kernel=4, causal)"
            "primal::nn::TokenMixing(width=6, kernel=3)");
}

}  // namespace
}  // namespace primal::nn
