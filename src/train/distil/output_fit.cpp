#include "train/distil/output_fit.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace primal::train {

namespace {

using at::Tensor;

constexpr double kRidges[] = {1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10};  // shares of the mean square of a score
constexpr double kNoRidge = 1e-10;       // for matrices that have theirs already, and may be singular
constexpr int kRounds = 10;              // of least squares in turn
constexpr double kLittleGain = 1e-5;     // of a round, as a share of what is explained
constexpr int kConjugateSteps = 20;      // a round begins where the last one ended, so few do
constexpr double kSmallResidual = 1e-9;  // as a share of the first one

// Both maps, without biases.
struct OutputMaps {
  Tensor score;  // [d, k]
  Tensor out;    // [H, d, D]: transposed Wo_h
};

// What the squares of the residual depend on, ridge included.
struct Moments {
  Tensor gram;   // [H, k, H, k]
  Tensor cross;  // [H, k, D]

  int64_t heads() const { return cross.size(0); }
  int64_t scores() const { return cross.size(1); }
  int64_t width() const { return cross.size(2); }
};

double product_of(const Tensor& a, const Tensor& b) { return (a * b).sum().item<double>(); }

// [B, H, N, k] -> [B, N, H, k]
Tensor scores_of(PrimalAttentionImpl& layer, const LayerSample& sample) {
  const AttentionScoreOutput scores = layer.scores(sample.x, {.query_padding = sample.padding});
  switch (layer.options().projections) {
    case Projections::right:
      return scores.e.transpose(1, 2);
    case Projections::left:
      return scores.r.transpose(1, 2);
    case Projections::both:
      break;
  }
  return at::cat({scores.e, scores.r}, -1).transpose(1, 2);
}

// The best out for this score map.
Tensor best_out(const Moments& m, const Tensor& score) {
  const int64_t d = score.size(0), features = m.heads() * d;
  const Tensor gram = at::einsum("ak,hkgl,bl->hagb", {score, m.gram, score}).reshape({features, features});
  const Tensor cross = at::einsum("ak,hkD->haD", {score, m.cross}).reshape({features, m.width()});
  return ridge_solution(gram, cross, kNoRidge).view({m.heads(), d, m.width()});
}

// The best score map for this out, by conjugate gradients from the one that there is.
Tensor best_score(const Moments& m, const OutputMaps& maps) {
  const Tensor products = at::einsum("haD,gbD->hagb", {maps.out, maps.out});
  const Tensor wanted = at::einsum("haD,hkD->ak", {maps.out, m.cross});
  const auto applied = [&](const Tensor& score) {
    const Tensor through = at::einsum("bk,gkhl->gbhl", {score, m.gram});
    return at::einsum("hagb,gbhl->al", {products, through});
  };
  Tensor score = maps.score.clone(), residual = wanted - applied(score), direction = residual.clone();
  const double enough = product_of(wanted, wanted) * kSmallResidual * kSmallResidual;
  double size = product_of(residual, residual);
  for (int step = 0; step < kConjugateSteps && size > enough; ++step) {
    const Tensor image = applied(direction);
    const double curvature = product_of(direction, image);
    if (!(curvature > 0)) break;
    score.add_(direction, size / curvature);
    residual.sub_(image, size / curvature);
    const double next = product_of(residual, residual);
    direction = residual + direction * (next / size);
    size = next;
  }
  return score;
}

// What is explained of the squares of y.
double explained(const Moments& m, const OutputMaps& maps) {
  const Tensor weights = at::einsum("ak,haD->hkD", {maps.score, maps.out});
  const int64_t features = m.heads() * m.scores();
  const Tensor flat = weights.reshape({features, m.width()});
  return 2 * product_of(weights, m.cross) - product_of(flat, at::mm(m.gram.reshape({features, features}), flat));
}

// [d, k] with orthonormal columns, the same ones every time.
Tensor any_score_map(int64_t d, int64_t k) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{1});
  return std::get<0>(at::linalg_qr(at::randn({d, k}, generator, at::kDouble)));
}

// The d directions of the scores that all heads together need most.
Tensor common_score_map(const Moments& m, const Tensor& weights, int64_t d) {
  Tensor mean = at::zeros({m.scores(), m.scores()}, at::kDouble);
  for (int64_t h = 0; h < m.heads(); ++h) mean += m.gram.select(0, h).select(1, h) / static_cast<double>(m.heads());
  mean.diagonal().add_(mean.diagonal() * kNoRidge + 1e-300);
  const Tensor triangle = at::linalg_cholesky(mean);
  const Tensor all = weights.transpose(1, 2).reshape({-1, m.scores()});  // [H D, k]
  const Tensor right = std::get<2>(at::linalg_svd(at::mm(all, triangle), /*full_matrices=*/false));
  const Tensor inverse = at::linalg_solve_triangular(triangle, at::eye(m.scores(), at::kDouble), /*upper=*/false);
  return at::mm(right.narrow(0, 0, d), inverse);
}

OutputMaps best_maps(const Moments& m, int64_t d) {
  const int64_t k = m.scores(), features = m.heads() * k;
  const Tensor free =
      ridge_solution(m.gram.reshape({features, features}), m.cross.reshape({features, m.width()}), kNoRidge)
          .view({m.heads(), k, m.width()});
  if (k <= d) {
    const Tensor score = any_score_map(d, k);
    return {.score = score, .out = at::einsum("ak,hkD->haD", {score, free})};
  }
  OutputMaps maps{.score = common_score_map(m, free, d), .out = {}};
  maps.out = best_out(m, maps.score);
  double before = explained(m, maps);
  for (int round = 0; round < kRounds; ++round) {
    maps.score = best_score(m, maps);
    maps.out = best_out(m, maps.score);
    const double now = explained(m, maps);
    if (now - before <= kLittleGain * std::abs(now)) break;
    before = now;
  }
  return maps;
}

double mean_square(const Tensor& x) { return x.square().mean().item<double>(); }

// Both maps with entries of one size, so that a step of training changes both alike.
void balance(OutputMaps& maps) {
  const double score = mean_square(maps.score), out = mean_square(maps.out);
  if (!(score > 0 && out > 0)) return;
  const double factor = std::pow(out / score, 0.25);
  maps.score = maps.score * factor;
  maps.out = maps.out / factor;
}

void put_maps(PrimalAttentionImpl& layer, const LeastSquares& sums, double ridge) {
  const int64_t heads = layer.options().heads, width = layer.options().width;
  const int64_t k = layer.score_proj->weight.size(1);
  Tensor gram = sums.gram();
  gram.diagonal().add_(ridge * gram.diagonal().mean());  // scores of small pairs, which are mostly noise, shrink most
  OutputMaps maps = best_maps({gram.view({heads, k, heads, k}), sums.cross().view({heads, k, width})}, width / heads);
  balance(maps);
  layer.score_proj->weight.copy_(maps.score);
  layer.out_proj->weight.copy_(maps.out.reshape({width, width}).t());
  if (!layer.out_proj->bias.defined()) return;
  layer.score_proj->bias.zero_();
  const Tensor weights = at::einsum("ak,haD->hkD", {maps.score, maps.out}).reshape({heads * k, width});
  layer.out_proj->bias.copy_(sums.intercept(weights));
}

}  // namespace

LeastSquares score_sums(PrimalAttentionImpl& layer, const std::vector<LayerSample>& samples) {
  const at::NoGradGuard no_grad;
  const int64_t features = layer.options().heads * layer.score_proj->weight.size(1);
  LeastSquares sums(features, layer.options().width, layer.out_proj->bias.defined());
  for (const LayerSample& sample : samples) {
    sums.add(real_rows(sample, scores_of(layer, sample)).flatten(1), real_rows(sample, sample.y));
  }
  return sums;
}

double fit_output(PrimalAttentionImpl& layer, const LayerSamples& samples) {
  const at::NoGradGuard no_grad;
  const LeastSquares sums = score_sums(layer, samples.fit());
  double best = -std::numeric_limits<double>::infinity();
  double best_ridge = kRidges[0];
  for (const double ridge : kRidges) {
    put_maps(layer, sums, ridge);
    const double share = explained_share(layer, samples.held_out());
    if (share > best) best = share, best_ridge = ridge;
  }
  put_maps(layer, sums, best_ridge);
  return best;
}

double explained_share(PrimalAttentionImpl& layer, const std::vector<LayerSample>& samples) {
  const at::NoGradGuard no_grad;
  double rest = 0, squares = 0, rows = 0;
  Tensor sum = at::zeros({layer.options().width}, at::kDouble);
  for (const LayerSample& sample : samples) {
    const Tensor out = layer.forward(sample.x, {.query_padding = sample.padding}).out;
    const Tensor y = real_rows(sample, sample.y).to(at::kDouble);
    rest += (y - real_rows(sample, out)).square().sum().item<double>();
    squares += y.square().sum().item<double>();
    sum += y.sum(0);
    rows += static_cast<double>(y.size(0));
  }
  const double spread = squares - product_of(sum, sum) / std::max(rows, 1.0);
  return spread > 0 ? 1 - rest / spread : std::nan("");
}

}  // namespace primal::train
