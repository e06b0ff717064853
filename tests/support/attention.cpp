#include "support/attention.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>

#include <optional>
#include <string>
#include <vector>

#include "support/tensors.h"

namespace primal::tests {

namespace {

using torch::Tensor;

// [B, N, D] -> [B, H, N, d]
Tensor heads_of(const Tensor& x, int64_t heads) { return x.unflatten(-1, {heads, x.size(-1) / heads}).transpose(1, 2); }

Tensor running_mean(const Tensor& x) {
  return x.cumsum(1) / torch::arange(1, x.size(1) + 1, x.options()).unsqueeze(-1);
}

// Token by token, as it is defined. log_scale: [H]
Tensor fading_mean(const Tensor& x, const Tensor& log_scale) {
  const Tensor decay = (-(-log_scale).exp()).exp().repeat_interleave(x.size(-1) / log_scale.size(0));
  Tensor sum = torch::zeros_like(decay), weight = torch::zeros_like(decay);
  std::vector<Tensor> means;
  for (int64_t t = 0; t < x.size(1); ++t) {
    sum = decay * sum + x.select(1, t);
    weight = decay * weight + 1;
    means.push_back(sum / weight);
  }
  return torch::stack(means, 1);
}

// Rows 0 .. N - 1 at floor(i (N - 1) / (n - 1)): the sampled ones, and those that stand beside n queries.
Tensor even_rows(const Tensor& x, int64_t n) {
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < n; ++i) rows.push_back(x.select(1, n == 1 ? 0 : i * (x.size(1) - 1) / (n - 1)));
  return torch::stack(rows, 1);
}

Tensor half_mean_square(const Tensor& score, const Tensor& lambda) {
  return 0.5 * (score.square() * lambda.unsqueeze(1)).sum(-1).mean(at::IntArrayRef{1, 2});
}

// A loss that weighs every output and every term differently, so that no gradient can hide behind another.
Tensor read_out(const AttentionOutput& result) {
  const auto weights = [](const Tensor& like) {
    return torch::arange(like.numel(), like.options()).add(1).sin().view_as(like);
  };
  Tensor sum = (result.out * weights(result.out)).sum();
  for (const Tensor& term : {result.terms.le, result.terms.lr * 2, result.terms.tr * 3}) {
    sum = sum + (term * weights(term)).sum();
  }
  return sum;
}

}  // namespace

PrimalAttention double_layer(const PrimalAttentionOptions& options) {
  torch::manual_seed(17);
  PrimalAttention layer(options);
  layer->to(torch::kDouble);
  return layer;
}

void expect_close(const AttentionOutput& actual, const AttentionOutput& expected, double tolerance) {
  EXPECT_TRUE(close(actual.out, expected.out, tolerance));
  EXPECT_TRUE(close(actual.terms.le, expected.terms.le, tolerance));
  EXPECT_TRUE(close(actual.terms.lr, expected.terms.lr, tolerance));
  EXPECT_TRUE(close(actual.terms.tr, expected.terms.tr, tolerance));
}

Tensor plain_cosine(const Tensor& u) { return u / u.norm(2, -1, /*keepdim=*/true); }

AttentionOutput plain_attention(const PrimalAttentionImpl& layer, const PlainFeatureMap& phi, const Tensor& x,
                                const Tensor& key) {
  const PrimalAttentionOptions& o = layer.options();
  auto linear = [](const torch::nn::Linear& l, const Tensor& input) {
    return torch::nn::functional::linear(input, l->weight, l->bias);
  };
  const Tensor& y = key.defined() ? key : x;
  Tensor q = linear(layer.q_proj, x), k = linear(layer.k_proj, y);
  const auto mean = [&](const Tensor& u) {
    return o.memory == Memory::decay ? fading_mean(u, layer.log_scale) : running_mean(u);
  };
  if (o.causal) q = mean(q), k = mean(k);
  const Tensor q_features = phi(heads_of(q, o.heads)), k_features = phi(heads_of(k, o.heads));

  Tensor we = layer.we.unsqueeze(0), wr = layer.wr.unsqueeze(0);
  const Tensor raw_trace = (we * wr).sum({1, 2, 3}) / o.heads;
  if (*o.data_dependent) {
    Tensor f = heads_of(even_rows(y, o.rows), o.heads);  // [B, H, n, d]
    if (q_features.size(-1) != f.size(-1)) f = phi(f);   // the weights act on features
    we = torch::matmul(f.transpose(2, 3), we), wr = torch::matmul(f.transpose(2, 3), wr);
  }
  const Tensor trace = o.trace == Trace::raw ? raw_trace : (we * wr).sum({1, 2, 3}) / o.heads;
  const Tensor e = torch::matmul(q_features, we), r = torch::matmul(k_features, wr);
  const Tensor beside = even_rows(r.transpose(1, 2), x.size(1)).transpose(1, 2);
  const Tensor scores = o.projections == Projections::both    ? torch::cat({e, beside}, -1)
                        : o.projections == Projections::right ? e
                                                              : beside;
  const Tensor mixed = linear(layer.score_proj, scores);  // [B, H, N, d]
  const Tensor out = linear(layer.out_proj, mixed.transpose(1, 2).flatten(2));
  return {out, {half_mean_square(e, layer.lambda()), half_mean_square(r, layer.lambda()), trace.expand({x.size(0)})}};
}

void expect_agrees_with_plain_attention(PrimalAttention layer, const PlainFeatureMap& phi, const Tensor& x,
                                        const Tensor& key) {
  constexpr double kTolerance = 1e-10;
  const auto leaf = [](const Tensor& t) { return t.defined() ? t.detach().clone().requires_grad_() : t; };
  const Tensor query_leaf = leaf(x), key_leaf = leaf(key);
  std::vector<Tensor> inputs = {query_leaf};
  std::vector<std::string> names = {"x"};
  if (key.defined()) inputs.push_back(key_leaf), names.emplace_back("key");
  for (const auto& parameter : layer->named_parameters()) {
    inputs.push_back(parameter.value());
    names.push_back(parameter.key());
  }
  const auto key_given = key.defined() ? std::optional(key_leaf) : std::nullopt;
  const AttentionOutput actual = layer->forward(query_leaf, {.key = key_given});
  const AttentionOutput expected = plain_attention(*layer, phi, query_leaf, key_leaf);
  expect_close(actual, expected, kTolerance);

  const auto actual_gradients = torch::autograd::grad({read_out(actual)}, inputs);
  const auto expected_gradients = torch::autograd::grad({read_out(expected)}, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(close(actual_gradients[i], expected_gradients[i], kTolerance)) << "gradient of " << names[i];
  }
}

}  // namespace primal::tests
