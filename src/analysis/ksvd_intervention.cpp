#include "analysis/ksvd_intervention.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <utility>

#include "analysis/ksvd_factors.h"
#include "nn/primal_attention_arguments.h"
#include "ops/attention/pass.h"
#include "primal/error.h"

namespace primal::analysis {

namespace {

using at::Tensor;

// directions [H, p, s] with a rotation of the columns and a norm that bring the scores triangle directions closest to
// triangle own: the rotation of Procrustes.
Tensor turned_to(const Tensor& triangle, const Tensor& directions, const Tensor& own) {
  const Tensor scores = at::matmul(triangle, directions), wanted = at::matmul(triangle, own);
  auto [left, values, right] = at::linalg_svd(at::matmul(scores.transpose(-2, -1), wanted), /*full_matrices=*/false);
  const auto norm = [](const Tensor& x) { return x.square().sum({-2, -1}, /*keepdim=*/true).sqrt(); };
  const Tensor length = norm(scores);
  const Tensor scale = at::where(length > 0, norm(wanted) / length, at::zeros_like(length));
  return at::matmul(directions, at::matmul(left, right)) * scale;
}

// The first s columns; zeros where there are fewer.
Tensor first_columns(const Tensor& x, int64_t s) {
  const int64_t there = std::min(s, x.size(-1));
  return at::constant_pad_nd(x.narrow(-1, 0, there), {0, s - there});
}

// F^T F x
Tensor squared_through(const KsvdFactors& factors, const Tensor& x) {
  if (!factors.f.defined()) return x;
  const Tensor f = factors.f[0];
  return at::matmul(f.transpose(-2, -1), at::matmul(f, x));
}

struct Directions {
  Tensor e, r;  // [H, p, s]
};

// E = U S and R = V S.
Directions best_pairs(const KsvdFactors& factors, int64_t rank) {
  const auto made = [&](const Tensor& triangle, const Tensor& vectors) {
    return squared_through(factors, at::matmul(triangle.transpose(-2, -1), first_columns(vectors, rank)));
  };
  return {made(factors.k[0], factors.right[0]), made(factors.q[0], factors.left[0])};
}

Directions other_directions(const KsvdFactors& factors, const Directions& own, InsteadOfScores instead,
                            at::Generator& generator) {
  const auto random = [&] { return at::randn(own.e.sizes(), generator, at::kDouble); };
  Directions other;
  if (instead == InsteadOfScores::best_pairs) {
    other = best_pairs(factors, own.e.size(-1));
  } else {
    other.e = random();
    other.r = random();
  }
  return {turned_to(factors.q[0], other.e, own.e), turned_to(factors.k[0], other.r, own.r)};
}

// The weights of each sample, [B, H, p, s], in place of those of the pass.
void change_weights(const PrimalAttentionImpl& layer, const ops::AttentionArguments& a, InsteadOfScores instead,
                    at::Generator& generator, ops::AttentionPass& pass) {
  const int64_t samples = a.query.size(0);
  const auto every = [&](const Tensor& weights) {
    return weights.to(at::kDouble).expand({samples, -1, -1, -1}).clone();
  };
  Tensor we = every(pass.we_x), wr = every(pass.wr_x);
  for (int64_t b = 0; b < samples; ++b) {
    const auto padding = a.query_padding ? ops::OptionalTensor(a.query_padding->narrow(0, b, 1)) : std::nullopt;
    const auto factors = ksvd_factors(layer, a.query.narrow(0, b, 1), padding);
    if (!factors) continue;
    const Directions other = other_directions(*factors, {we[b], wr[b]}, instead, generator);
    we[b].copy_(other.e);
    wr[b].copy_(other.r);
  }
  pass.we_x = we.to(pass.e.scalar_type());
  pass.wr_x = wr.to(pass.r.scalar_type());
}

}  // namespace

KsvdIntervention::KsvdIntervention(std::shared_ptr<nn::Attention> attention, InsteadOfScores instead, uint64_t seed)
    : attention_(std::move(attention)), instead_(instead), generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {
  if (attention_->primal() == nullptr) throw Error("ksvd: only a primal layer has scores to change");
  if (attention_->options().causal) {
    throw Error("ksvd: the scores of a causal layer are not changed: pairs of a whole sequence tell of the future");
  }
}

void KsvdIntervention::saw(const std::shared_ptr<nn::Attention>& /*attention*/, const torch::Tensor& /*input*/,
                           const std::optional<torch::Tensor>& /*padding*/) {}

std::optional<torch::Tensor> KsvdIntervention::output_instead(const std::shared_ptr<nn::Attention>& attention,
                                                              const torch::Tensor& input,
                                                              const std::optional<torch::Tensor>& padding) {
  if (attention != attention_) return std::nullopt;
  ++calls_;
  const at::NoGradGuard no_grad;
  const PrimalAttentionImpl& layer = *attention_->primal();
  const ops::AttentionArguments a = nn::attention_arguments(layer, input, {.query_padding = padding});
  ops::AttentionPass pass = ops::run_scores(a);
  if (instead_ == InsteadOfScores::none) {
    pass.we_x = at::zeros_like(pass.we_x);
    pass.wr_x = at::zeros_like(pass.wr_x);
  } else {
    change_weights(layer, a, instead_, generator_, pass);
  }
  pass.e = at::matmul(pass.query_f, pass.we_x);
  pass.r = at::matmul(pass.key_f, pass.wr_x);
  ops::mix_scores(a, pass);
  return ops::output(a, pass);
}

}  // namespace primal::analysis
