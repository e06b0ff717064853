#include "analysis/ksvd_intervention.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <utility>

#include "analysis/ksvd_directions.h"
#include "nn/primal_attention_arguments.h"
#include "ops/attention/pass.h"
#include "primal/error.h"

namespace primal::analysis {

namespace {

using at::Tensor;

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
    const KsvdDirections other = other_directions(*factors, {we[b], wr[b]}, instead, generator);
    we[b].copy_(other.we);
    wr[b].copy_(other.wr);
  }
  pass.we_x = we.to(pass.e.scalar_type());
  pass.wr_x = wr.to(pass.r.scalar_type());
}

}  // namespace

KsvdIntervention::KsvdIntervention(std::shared_ptr<nn::Attention> attention, InsteadOfScores instead, uint64_t seed)
    : attention_(std::move(attention)), instead_(instead), generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {
  if (attention_->primal() == nullptr) throw Error("ksvd: only a primal layer has scores to change");
  if (attention_->options().causal) {
    throw Error("ksvd: the pairs of a whole sequence would tell the tokens of a causal layer of the future");
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
  if (instead_ == InsteadOfScores::none) {  // whatever the samples are: nothing is decomposed
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
