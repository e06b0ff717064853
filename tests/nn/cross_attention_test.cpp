// Queries of one sequence, keys and sampled rows of another.
#include <gtest/gtest.h>
#include <torch/types.h>

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
using torch::Tensor;

const PrimalAttentionOptions kDataDependent{.width = 12, .heads = 3, .rank = 2, .rows = 5};
const PrimalAttentionOptions kPointwise{.width = 12, .heads = 3, .rank = 2, .data_dependent = false};

Tensor tokens(int64_t batch, int64_t length) { return torch::randn({batch, length, 12}, torch::kDouble); }

TEST(CrossAttention, AgreesWithItsFormulasAndTheirGradients) {
  for (const auto& options : {kDataDependent, kPointwise}) {
    expect_agrees_with_plain_attention(double_layer(options), plain_cosine, tokens(2, 5), tokens(2, 8));
    expect_agrees_with_plain_attention(double_layer(options), plain_cosine, tokens(2, 8), tokens(2, 3));
  }
}

TEST(CrossAttention, ToPaddedKeysIsThatToNoKeys) {
  for (const auto& options : {kDataDependent, kPointwise}) {
    PrimalAttention layer = double_layer(options);
    const Tensor x = tokens(2, 5), key = tokens(2, 3);
    EXPECT_TRUE(close(layer->forward(x, {.key = key, .key_padding = torch::ones({2, 3}, torch::kBool)}).out,
                      layer->forward(x, {.key = key.narrow(1, 0, 0)}).out, 1e-13));
  }
}

TEST(CrossAttention, ToTheSameSequenceIsSelfAttention) {
  for (const auto& options : {kDataDependent, kPointwise}) {
    PrimalAttention layer = double_layer(options);
    const Tensor x = tokens(2, 7), padded = padding_mask(torch::tensor({7, 4}), 7);
    expect_close(layer->forward(x, {.key = x}), layer->forward(x), 1e-13);
    expect_close(layer->forward(x, {.key = x, .query_padding = padded, .key_padding = padded}),
                 layer->forward(x, {.query_padding = padded}), 1e-13);
  }
}

TEST(CrossAttention, DoesNotDependOnPaddingOfTheKeys) {
  PrimalAttention layer = double_layer(kDataDependent);
  const Tensor query = tokens(2, 5), key = tokens(2, 6), longer = torch::cat({key, tokens(2, 3)}, 1);
  const Tensor padded = padding_mask(torch::tensor({6, 6}), 9);
  expect_close(layer->forward(query, {.key = longer, .key_padding = padded}), layer->forward(query, {.key = key}),
               1e-12);
}

}  // namespace
}  // namespace primal
