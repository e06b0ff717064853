#include "analysis/ksvd_conditions.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

namespace primal::analysis {

namespace {

using at::Tensor;

Tensor transposed(const Tensor& x) { return x.transpose(-2, -1); }

// Squared Frobenius norm: [..., n, s] -> [...]
Tensor square_norm(const Tensor& x) { return x.square().sum({-2, -1}); }

// F^T x, or x where F is the identity.
Tensor through(const Tensor& f, const Tensor& x) { return f.defined() ? at::matmul(transposed(f), x) : x; }
// F x
Tensor back_through(const Tensor& f, const Tensor& x) { return f.defined() ? at::matmul(f, x) : x; }

// The weights in the space of the features, and the images of the scores under the conditions.
struct ScoreSide {
  Tensor weights;   // [B, H, n, s]
  Tensor features;  // [B, H, p, s]: F^T weights
  Tensor scores;    // [B, H, p, s]: the triangle of the scores, E = Q_q scores
};

ScoreSide side_of(const KsvdFactors& factors, const Tensor& triangle, const Tensor& weights) {
  const Tensor wide = weights.to(at::kDouble);
  const Tensor w = through(factors.sampled, wide.dim() == 3 ? wide.unsqueeze(0) : wide);
  const Tensor features = through(factors.f, w);
  return {w, features, at::matmul(triangle, features)};
}

// Sum of squared distances from the columns of w to the rays of the columns of t: those of wanted, of length >= 0.
Tensor off_rays(const Tensor& w, const Tensor& t) {
  const Tensor along = (w * t).sum(-2).clamp_min(0), length = t.square().sum(-2);
  const Tensor caught = at::where(length > 0, along.square() / length, at::zeros_like(length));
  return (w.square().sum(-2) - caught).clamp_min(0).sum(-1);
}

// Mean square cosine of two different columns.
Tensor overlap(const Tensor& scores) {
  const int64_t s = scores.size(-1);
  const Tensor length = scores.norm(2, -2, /*keepdim=*/true);
  const Tensor unit = at::where(length > 0, scores / length, at::zeros_like(scores));
  const Tensor gram = at::matmul(transposed(unit), unit);
  const Tensor diagonal = at::diagonal(gram, 0, -2, -1).square().sum(-1);
  // A single column overlaps with nothing.
  return (square_norm(gram) - diagonal).clamp_min(0) / static_cast<double>(std::max<int64_t>(s * (s - 1), 1));
}

// 1 for the best s singular values that are not rounding: [B, H, p]
Tensor best_values(const Tensor& singular_values, int64_t rank) {
  const Tensor index = at::arange(singular_values.size(-1), at::kLong);
  const Tensor real = singular_values > kRounding * singular_values.amax(-1, /*keepdim=*/true);
  return real.logical_and(index < rank).to(at::kDouble);
}

// basis: orthonormal columns of the scores; vectors: singular vectors, of which those marked count.
Tensor in_subspace(const Tensor& basis, const Tensor& vectors, const Tensor& marked) {
  const Tensor cosines = at::matmul(transposed(vectors * marked.unsqueeze(-2)), basis);
  return square_norm(cosines) / marked.sum(-1);
}

// Rank correlation (Spearman) along the last axis; NaN for a single number.
Tensor rank_correlation(const Tensor& a, const Tensor& b) {
  const auto ranks = [](const Tensor& x) {
    const Tensor rank = at::argsort(at::argsort(x, int64_t{-1}), int64_t{-1}).to(at::kDouble);
    return rank - rank.mean(-1, /*keepdim=*/true);
  };
  const Tensor x = ranks(a), y = ranks(b);
  return (x * y).sum(-1) / (x.square().sum(-1) * y.square().sum(-1)).sqrt();
}

// e^T K r / |e| |r| of each pair of columns.
Tensor pair_gains(const Tensor& core, const Tensor& e, const Tensor& r) {
  return (e * at::matmul(core, r)).sum(-2) / (e.norm(2, -2) * r.norm(2, -2));
}

// Median over the values that have a partner among the marked ones. inverse: [B, H, s], values, marked: [B, H, p]
Tensor median_ratio(const Tensor& inverse, const Tensor& values, const Tensor& marked) {
  const Tensor falling = std::get<0>(inverse.sort(-1, /*descending=*/true));
  const int64_t pairs = std::min(falling.size(-1), values.size(-1));
  const Tensor ratio = falling.narrow(-1, 0, pairs) / values.narrow(-1, 0, pairs);
  const Tensor none = at::full_like(ratio, std::numeric_limits<double>::quiet_NaN());
  return std::get<0>(at::nanmedian(at::where(marked.narrow(-1, 0, pairs) > 0, ratio, none), -1));
}

struct Objective {
  Tensor le, lr, tr;  // [B, 1], of the layer
};

Objective objective_of(const ScoreSide& e, const ScoreSide& r, const Tensor& scale) {
  const auto half = [&](const ScoreSide& side) {
    return 0.5 * (side.scores.square() * scale).sum({-2, -1}).mean(1, /*keepdim=*/true);
  };
  return {half(e), half(r), (e.weights * r.weights).sum({-2, -1}).mean(1, /*keepdim=*/true)};
}

void put_objective(const Objective& j, const Tensor& like, KsvdConditions& result) {
  const Tensor parts = j.le + j.lr + j.tr.abs();
  const auto put = [&](Measure measure, const Tensor& value) {
    result.values[index_of(measure)] = value.expand_as(like).contiguous();
  };
  put(Measure::balance, (j.le + j.lr - j.tr).abs() / parts);
  put(Measure::largest_part, at::maximum(at::maximum(j.le, j.lr), j.tr.abs()));
}

void put_conditions(const KsvdFactors& factors, const ScoreSide& e, const ScoreSide& r, const Tensor& scale,
                    KsvdConditions& result) {
  // Phi_k^T R and Phi_q^T E, without L: [B, H, p, s]
  const Tensor of_r = at::matmul(transposed(factors.k), r.scores), of_e = at::matmul(transposed(factors.q), e.scores);
  const Tensor free_we = back_through(factors.f, of_r), free_wr = back_through(factors.f, of_e);
  result.wanted_we = free_we * scale;
  result.wanted_wr = free_wr * scale;
  result.we = e.weights;
  result.wr = r.weights;
  auto& values = result.values;
  const auto ratio = [](const Tensor& off, const Tensor& all) { return (off / all).sqrt(); };
  const Tensor all_e = square_norm(e.weights), all_r = square_norm(r.weights);
  values[index_of(Measure::residual)] = relative_residual(e.weights, result.wanted_we, r.weights, result.wanted_wr);
  values[index_of(Measure::residual_e)] = ratio(square_norm(e.weights - result.wanted_we), all_e);
  values[index_of(Measure::residual_r)] = ratio(square_norm(r.weights - result.wanted_wr), all_r);
  values[index_of(Measure::direction)] =
      ratio(off_rays(e.weights, free_we) + off_rays(r.weights, free_wr), all_e + all_r);
  // K R L = Phi_q F^T (F Phi_k^T R L), so both sides pass through F^T and the triangle.
  const auto seen = [&](const Tensor& triangle, const Tensor& wanted) {
    return at::matmul(triangle, through(factors.f, wanted));
  };
  values[index_of(Measure::forward)] =
      relative_residual(e.scores, seen(factors.q, result.wanted_we), r.scores, seen(factors.k, result.wanted_wr));
  if (!factors.f_range.defined()) {
    values[index_of(Measure::ineffective)] = at::zeros_like(values[index_of(Measure::residual)]);
    return;
  }
  const auto without_effect = [&](const Tensor& weights, const Tensor& all) {
    return (all - square_norm(at::matmul(transposed(factors.f_range), weights))).clamp_min(0);
  };
  values[index_of(Measure::ineffective)] =
      (without_effect(e.weights, all_e) + without_effect(r.weights, all_r)) / (all_e + all_r);
}

void put_directions(const KsvdFactors& factors, const ScoreSide& e, const ScoreSide& r, const Tensor& scale,
                    KsvdConditions& result) {
  auto& values = result.values;
  const int64_t rank = e.scores.size(-1);
  const Tensor marked = best_values(factors.singular_values, rank);
  const Tensor basis_e = orthonormal_columns(e.scores), basis_r = orthonormal_columns(r.scores);
  values[index_of(Measure::overlap_e)] = overlap(e.scores);
  values[index_of(Measure::overlap_r)] = overlap(r.scores);
  values[index_of(Measure::subspace_e)] = in_subspace(basis_e, factors.left, marked);
  values[index_of(Measure::subspace_r)] = in_subspace(basis_r, factors.right, marked);
  const Tensor kept = at::matmul(transposed(basis_e), at::matmul(factors.core, basis_r));
  values[index_of(Measure::energy)] = square_norm(kept) / (factors.singular_values * marked).square().sum(-1);
  const Tensor inverse = scale.squeeze(-2).reciprocal();  // 1 / L: [B, H, s]
  values[index_of(Measure::rank_correlation)] = rank_correlation(inverse, pair_gains(factors.core, e.scores, r.scores));
  values[index_of(Measure::lambda_ratio)] = median_ratio(inverse, factors.singular_values, marked);
}

}  // namespace

Tensor relative_residual(const Tensor& a, const Tensor& wanted_a, const Tensor& b, const Tensor& wanted_b) {
  return ((square_norm(a - wanted_a) + square_norm(b - wanted_b)) / (square_norm(a) + square_norm(b))).sqrt();
}

KsvdConditions ksvd_conditions(const KsvdFactors& factors, const KsvdWeights& weights) {
  const at::NoGradGuard no_grad;
  const ScoreSide e = side_of(factors, factors.q, weights.we), r = side_of(factors, factors.k, weights.wr);
  // L: [B, H, 1, s]
  const Tensor scale = weights.lambda.to(at::kDouble).unsqueeze(0).unsqueeze(2) / factors.tokens.view({-1, 1, 1, 1});
  KsvdConditions result;
  put_conditions(factors, e, r, scale, result);
  put_directions(factors, e, r, scale, result);
  put_objective(objective_of(e, r, scale), result.of(Measure::residual), result);
  return result;
}

}  // namespace primal::analysis
