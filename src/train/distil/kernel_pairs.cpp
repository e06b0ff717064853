#include "train/distil/kernel_pairs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nn/primal_attention_arguments.h"
#include "nn/primal_attention_init.h"
#include "ops/attention/pass.h"

namespace primal::train {

namespace {

using at::Tensor;

constexpr double kLeastValue = 1e-3;    // of 1 / Lambda, as a share of what is typical of the head
constexpr double kLeastLambda = 1e-3;   // likewise, of pairs that have none
constexpr double kRoundedValue = 1e-9;  // smaller ones are no pairs

// phi: [B, H, N, p], 0 at tokens that are left out. -> [B, H, p, p], means over the tokens
Tensor gram_of(const Tensor& phi, const ops::OptionalTensor& left_out, const Tensor& tokens) {
  const Tensor counted = (left_out ? phi.masked_fill(left_out->unsqueeze(1).unsqueeze(-1), 0) : phi).to(at::kDouble);
  return at::matmul(counted.transpose(-2, -1), counted) / tokens;
}

Tensor tokens_of(const ops::AttentionPass& pass) {
  if (!pass.query_out) return at::full({1, 1, 1, 1}, static_cast<double>(pass.query_f.size(2)), at::kDouble);
  return pass.query_out->logical_not().sum(1).clamp_min(1).to(at::kDouble).view({-1, 1, 1, 1});
}

// Summed over the sequences.
ScoreGrams grams_of(const PrimalAttentionImpl& layer, const LayerSample& sample) {
  const ops::AttentionArguments a = nn::attention_arguments(layer, sample.x, {.query_padding = sample.padding});
  const ops::AttentionPass pass = ops::run_scores(a);
  const Tensor tokens = tokens_of(pass);
  const Tensor q = gram_of(pass.query_f, pass.query_out, tokens), k = gram_of(pass.key_f, pass.key_out, tokens);
  if (!a.mode.data_dependent) return {q.sum(0), k.sum(0)};
  const Tensor rows = pass.rows_f.to(at::kDouble), transposed = rows.transpose(-2, -1);
  const auto through = [&](const Tensor& gram) { return at::matmul(at::matmul(rows, gram), transposed).sum(0); };
  return {through(q), through(k)};
}

// L with L L^T = gram.
Tensor root_of(const Tensor& gram) {
  const auto [values, vectors] = at::linalg_eigh(gram);
  return vectors * values.clamp_min(0).sqrt().unsqueeze(-2);
}

Tensor column_squares(const Tensor& x) { return x.square().sum(-2); }

// <c, gram c> of every column c. [H, s]
Tensor energies(const Tensor& gram, const Tensor& columns) { return (columns * at::matmul(gram, columns)).sum(-2); }

}  // namespace

ScoreGrams score_grams(const PrimalAttentionImpl& layer, const std::vector<LayerSample>& samples) {
  const at::NoGradGuard no_grad;
  const int64_t heads = layer.we.size(0), m = layer.we.size(1);
  ScoreGrams sum{at::zeros({heads, m, m}, at::kDouble), at::zeros({heads, m, m}, at::kDouble)};
  int64_t sequences = 0;
  for (const LayerSample& sample : samples) {
    const ScoreGrams more = grams_of(layer, sample);
    sum.a += more.a;
    sum.b += more.b;
    sequences += sample.x.size(0);
  }
  const auto count = static_cast<double>(std::max<int64_t>(sequences, 1));
  return {sum.a / count, sum.b / count};
}

Tensor put_kernel_pairs(PrimalAttentionImpl& layer, const ScoreGrams& grams) {
  const at::NoGradGuard no_grad;
  const int64_t rank = layer.options().rank, pairs = std::min(rank, grams.a.size(-1));
  const Tensor root_a = root_of(grams.a), root_b = root_of(grams.b);
  auto [left, all_values, right] =
      at::linalg_svd(at::matmul(root_a.transpose(-2, -1), root_b), /*full_matrices=*/false);
  const Tensor values = all_values.narrow(-1, 0, pairs);
  const Tensor we = at::matmul(root_b, right.transpose(-2, -1).narrow(-1, 0, pairs));
  const Tensor wr = at::matmul(root_a, left.narrow(-1, 0, pairs));
  const Tensor length = (column_squares(we) + column_squares(wr)).sqrt();
  const Tensor real = (values > kRoundedValue * values.amax(-1, /*keepdim=*/true)).logical_and(length > 0);
  const Tensor scale = at::where(real, std::sqrt(2.0 / static_cast<double>(rank)) / length, at::zeros_like(length));
  const auto put = [&](Tensor& weights, const Tensor& found) {
    Tensor columns = weights.narrow(-1, 0, pairs);
    columns.copy_(at::where(real.unsqueeze(-2), found * scale.unsqueeze(-2), columns.to(at::kDouble)));
  };
  put(layer.we, we);
  put(layer.wr, wr);
  put_lambda(layer, grams);
  return values;
}

void put_lambda(PrimalAttentionImpl& layer, const ScoreGrams& grams) {
  const at::NoGradGuard no_grad;
  const Tensor we = layer.we.to(at::kDouble), wr = layer.wr.to(at::kDouble);
  const Tensor trace = (we * wr).sum(-2), energy = (energies(grams.a, we) + energies(grams.b, wr)) / 2;
  // By the lengths of the weights: a trace may be as small as it likes, or below 0.
  const Tensor lengths = (column_squares(we) * column_squares(wr)).sqrt().clamp_min(1e-300);
  const Tensor typical = (energy / lengths).amax(-1, /*keepdim=*/true).clamp_min(1e-30);
  // 1 / Lambda of a pair, if it has one.
  const Tensor value = (energy / trace.clamp_min(1e-300)).maximum(kLeastValue * typical);
  const Tensor lambda = at::where(trace > 0, value.reciprocal(), kLeastLambda / typical);
  layer.lam.copy_(nn::lam_of(lambda, layer.options().lambda));
}

}  // namespace primal::train
