// What the layer computes: its formulas, and what its output may depend on.
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "primal/attention.h"
#include "support/attention.h"
#include "support/tensors.h"

namespace primal {
namespace {

using tests::close;
using tests::double_layer;
using tests::expect_agrees_with_plain_attention;
using tests::expect_close;
using tests::plain_cosine;
using tests::same;
using torch::Tensor;

const PrimalAttentionOptions kDataDependent{.width = 12, .heads = 3, .rank = 2, .rows = 5};
const PrimalAttentionOptions kPointwise{.width = 12, .heads = 3, .rank = 2, .data_dependent = false};
const PrimalAttentionOptions kCausalLayer{.width = 12, .heads = 3, .rank = 2, .causal = true};

Tensor tokens(int64_t batch, int64_t length) { return torch::randn({batch, length, 12}, torch::kDouble); }

const std::vector<std::pair<int64_t, int64_t>> kEmptySizes = {{2, 0}, {0, 4}, {0, 0}};  // batch, length

/// When no token counts, the output, the terms of the scores and the gradient for the tokens are 0.
void expect_nothing(PrimalAttention layer, int64_t batch, int64_t length, const std::optional<Tensor>& padded) {
  SCOPED_TRACE(testing::Message() << "batch " << batch << ", length " << length);
  const Tensor x = tokens(batch, length).requires_grad_();
  const auto [out, terms] = layer->forward(x, {.query_padding = padded});
  const Tensor zero = torch::zeros({batch}, torch::kDouble);
  EXPECT_TRUE(same(out, torch::zeros_like(x)));
  EXPECT_TRUE(same(terms.le, zero) && same(terms.lr, zero));
  (out.sum() + terms.objective().sum()).backward();
  EXPECT_TRUE(same(x.grad(), torch::zeros_like(x)));
}

template <typename Call>
auto under_autocast(const Call& call) {
  struct Autocast {
    Autocast() { at::autocast::set_autocast_enabled(at::kCPU, true); }
    ~Autocast() {
      at::autocast::set_autocast_enabled(at::kCPU, false);
      at::autocast::clear_cache();
    }
  } const on;
  return call();
}

class EveryKind : public testing::TestWithParam<std::string> {
 protected:
  PrimalAttention layer = double_layer(GetParam() == "Causal"      ? kCausalLayer
                                       : GetParam() == "Pointwise" ? kPointwise
                                                                   : kDataDependent);
};
INSTANTIATE_TEST_SUITE_P(PrimalAttention, EveryKind, testing::Values("DataDependent", "Pointwise", "Causal"),
                         [](const auto& kind) { return kind.param; });

TEST_P(EveryKind, AgreesWithItsFormulasAndTheirGradients) {
  for (const int64_t length : {1, 4, 9}) {
    SCOPED_TRACE(length);
    expect_agrees_with_plain_attention(layer, plain_cosine, tokens(3, length));
  }
}

TEST_P(EveryKind, OutputDoesNotDependOnPadding) {
  const std::vector<int64_t> lengths = {7, 3, 1};
  Tensor x = tokens(3, 7);
  const Tensor padded = padding_mask(torch::tensor(lengths), 7);
  x = x.masked_fill(padded.unsqueeze(-1), std::numeric_limits<double>::quiet_NaN());
  const auto [out, terms] = layer->forward(x, {.query_padding = padded});
  for (int64_t b = 0; b < 3; ++b) {
    SCOPED_TRACE(testing::Message() << "sample " << b);
    const int64_t length = lengths[static_cast<size_t>(b)];
    const auto sample = [&](const Tensor& t) { return t.narrow(0, b, 1); };
    expect_close({sample(out).narrow(1, 0, length), {sample(terms.le), sample(terms.lr), sample(terms.tr)}},
                 layer->forward(sample(x).narrow(1, 0, length)), 1e-12);
  }
  EXPECT_TRUE(same(out.masked_select(padded.unsqueeze(-1)), torch::zeros({10 * 12}, torch::kDouble)));
}

// Of a loss that sees the padded outputs as well.
TEST_P(EveryKind, GradientsDoNotDependOnPadding) {
  const std::vector<Tensor> parameters = layer->parameters();
  const auto gradients = [&](const Tensor& x, const std::optional<Tensor>& padded) {
    const auto [out, terms] = layer->forward(x, {.query_padding = padded});
    std::vector<Tensor> inputs = parameters;
    inputs.push_back(x);
    return torch::autograd::grad({(out + 1).square().sum() + terms.objective().square().sum()}, inputs);
  };
  const Tensor x = tokens(1, 4).requires_grad_();
  const Tensor nan = torch::full({1, 3, 12}, std::numeric_limits<double>::quiet_NaN(), torch::kDouble);
  const Tensor longer = torch::cat({x.detach(), nan}, 1).requires_grad_();
  const auto expected = gradients(x, std::nullopt), actual = gradients(longer, padding_mask(torch::tensor({4}), 7));
  for (size_t i = 0; i < parameters.size(); ++i) EXPECT_TRUE(close(actual[i], expected[i], 1e-12)) << "parameter " << i;
  EXPECT_TRUE(close(actual.back().narrow(1, 0, 4), expected.back(), 1e-12));
  EXPECT_TRUE(same(actual.back().narrow(1, 4, 3), torch::zeros({1, 3, 12}, torch::kDouble)));
}

TEST_P(EveryKind, SamplesOfABatchDoNotTouchEachOther) {
  const Tensor x = tokens(3, 6);
  const Tensor alone = layer->forward(x.narrow(0, 1, 1)).out;
  EXPECT_TRUE(close(layer->forward(x).out.narrow(0, 1, 1), alone, 1e-12));
}

TEST_P(EveryKind, WorksOnEmptySequencesAndBatches) {
  for (const auto& [batch, length] : kEmptySizes) expect_nothing(layer, batch, length, std::nullopt);
}

TEST_P(EveryKind, WorksOnEmptySequencesAndBatchesWithAMask) {
  for (const auto& [batch, length] : kEmptySizes) {
    expect_nothing(layer, batch, length, torch::zeros({batch, length}, torch::kBool));
  }
}

TEST_P(EveryKind, GivesZeroForASequenceThatIsAllPadding) {
  expect_nothing(layer, 2, 4, torch::ones({2, 4}, torch::kBool));
}

TEST_P(EveryKind, BFloat16StaysCloseToFloat32) {
  const Tensor x = torch::randn({2, 20, 12}).to(torch::kBFloat16);
  layer->to(torch::kBFloat16);
  const auto [out, terms] = layer->forward(x);
  layer->to(torch::kFloat);
  const auto expected = layer->forward(x.to(torch::kFloat));
  EXPECT_EQ(out.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(terms.le.scalar_type(), torch::kFloat);
  expect_close({out, terms}, expected, 0.02);
}

TEST_P(EveryKind, AutocastComputesInBFloat16AndKeepsTheTermsInFloat32) {
  layer->to(torch::kFloat);
  const Tensor x = torch::randn({2, 20, 12});
  const auto expected = layer->forward(x);
  const auto [out, terms] = under_autocast([&] { return layer->forward(x); });
  EXPECT_EQ(out.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(terms.tr.scalar_type(), torch::kFloat);
  EXPECT_TRUE(close(terms.tr, expected.terms.tr, 1e-6));
  expect_close({out, terms}, expected, 0.02);
}

TEST(PrimalAttention, CausalOutputDoesNotDependOnLaterTokens) {
  PrimalAttention layer = double_layer(kCausalLayer);
  const Tensor x = tokens(2, 8), changed = x.clone();
  changed.narrow(1, 5, 3).normal_();
  const Tensor before = layer->forward(x).out, after = layer->forward(changed).out;
  EXPECT_TRUE(close(after.narrow(1, 0, 5), before.narrow(1, 0, 5), 1e-14));
  EXPECT_FALSE(close(after.narrow(1, 5, 3), before.narrow(1, 5, 3), 1e-3));
}

TEST(PrimalAttention, DataDependentOutputDependsOnSampledTokensOnly) {
  PrimalAttention layer = double_layer(kDataDependent);  // rows 0, 2, 4, 6, 8 of 9
  const Tensor x = tokens(1, 9), sampled = x.clone(), other = x.clone();
  sampled.select(1, 4).normal_();
  other.select(1, 5).normal_();
  const Tensor first = layer->forward(x).out.select(1, 0);
  EXPECT_TRUE(close(layer->forward(other).out.select(1, 0), first, 1e-14));
  EXPECT_FALSE(close(layer->forward(sampled).out.select(1, 0), first, 1e-3));
}

TEST(PrimalAttention, PublishedPaddingOnlyZeroesTheInputOfTheOutputProjection) {
  PrimalAttentionOptions options = kDataDependent;
  options.padding = Padding::ignore;
  PrimalAttention layer = double_layer(options);
  const Tensor x = tokens(2, 6), padded = padding_mask(torch::tensor({6, 2}), 6);
  const auto masked = layer->forward(x, {.query_padding = padded}), plain = layer->forward(x);
  EXPECT_TRUE(close(masked.out[1].narrow(0, 2, 4), layer->out_proj->bias.expand({4, 12}), 1e-14));
  EXPECT_TRUE(close(masked.out[1].narrow(0, 0, 2), plain.out[1].narrow(0, 0, 2), 1e-14));
  EXPECT_TRUE(same(masked.terms.le, plain.terms.le));
}

TEST(PrimalAttention, TraceOnDataAgreesWithItsFormulaAndItsGradients) {
  for (PrimalAttentionOptions options : {kDataDependent, kPointwise, kCausalLayer}) {
    options.trace = Trace::data_dependent;
    expect_agrees_with_plain_attention(double_layer(options), plain_cosine, tokens(2, 6));
  }
}

TEST(PrimalAttention, EachSamplingTakesItsOwnRows) {
  const Tensor x = tokens(1, 51);  // of 51 tokens and 23 rows, linspace rounds the middle one down: 24 instead of 25
  const auto weights = [&](Sampling sampling) {
    return double_layer({.width = 12, .heads = 3, .rank = 2, .rows = 23, .sampling = sampling})->scores(x).we_x;
  };
  const Tensor exact = weights(Sampling::exact), linspace = weights(Sampling::linspace),
               legacy = weights(Sampling::legacy);
  EXPECT_FALSE(close(linspace, exact, 1e-3));
  EXPECT_FALSE(close(legacy, exact, 1e-3));
  EXPECT_FALSE(close(legacy, linspace, 1e-3));
}

TEST(PrimalAttention, ScoresAreZeroAtPaddedTokensAndNeedNoGradient) {
  PrimalAttention layer = double_layer(kDataDependent);
  const Tensor padded = padding_mask(torch::tensor({2}), 5);
  const auto scores = layer->scores(tokens(1, 5), {.query_padding = padded});
  EXPECT_EQ(scores.e.sizes(), (std::vector<int64_t>{1, 3, 5, 2}));
  EXPECT_TRUE(same(scores.e.narrow(2, 2, 3), torch::zeros({1, 3, 3, 2}, torch::kDouble)));
  EXPECT_TRUE(same(scores.r.narrow(2, 2, 3), torch::zeros({1, 3, 3, 2}, torch::kDouble)));
  EXPECT_FALSE(scores.e.requires_grad());
}

}  // namespace
}  // namespace primal
