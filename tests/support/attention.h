// Layers to test, and Primal-Attention written as plainly as its formulas, differentiated by autograd.
#pragma once

#include <functional>

#include "primal/attention.h"

namespace primal::tests {

/// A layer in double precision with parameters that depend on nothing but the options.
PrimalAttention double_layer(const PrimalAttentionOptions& options);

using PlainFeatureMap = std::function<torch::Tensor(const torch::Tensor&)>;

/// u / |u| along the last axis.
torch::Tensor plain_cosine(const torch::Tensor& u);

/// Self-attention without masks, raw trace, exact sampling, by the layer's parameters. x: [B, N, D]
AttentionOutput plain_attention(const PrimalAttentionImpl& layer, const torch::Tensor& x, const PlainFeatureMap& phi);

/// Runs both on the same x and compares outputs, KSVD terms and the gradients of all of them together, for x and for
/// every parameter. The layer is a double_layer.
void expect_agrees_with_plain_attention(PrimalAttention layer, const torch::Tensor& x, const PlainFeatureMap& phi);

}  // namespace primal::tests
