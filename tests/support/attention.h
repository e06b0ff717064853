// Layers to test, and Primal-Attention written as plainly as its formulas, differentiated by autograd.
#pragma once

#include <functional>

#include "primal/attention.h"

namespace primal::tests {

/// A layer in double precision with parameters that depend on nothing but the options.
PrimalAttention double_layer(const PrimalAttentionOptions& options);

/// Outputs and KSVD terms.
void expect_close(const AttentionOutput& actual, const AttentionOutput& expected, double tolerance);

using PlainFeatureMap = std::function<torch::Tensor(const torch::Tensor&)>;

/// u / |u| along the last axis.
torch::Tensor plain_cosine(const torch::Tensor& u);

/// The layer without masks and with exact sampling, by its parameters. x: [B, Nq, D], key: [B, Nk, D] or undefined
AttentionOutput plain_attention(const PrimalAttentionImpl& layer, const PlainFeatureMap& phi, const torch::Tensor& x,
                                const torch::Tensor& key = {});

/// Runs both on the same tokens and compares outputs, KSVD terms and the gradients of all of them together, for the
/// tokens and for every parameter. The layer is a double_layer.
void expect_agrees_with_plain_attention(PrimalAttention layer, const PlainFeatureMap& phi, const torch::Tensor& x,
                                        const torch::Tensor& key = {});

}  // namespace primal::tests
