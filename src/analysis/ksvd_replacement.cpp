#include "analysis/ksvd_replacement.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <utility>

#include "nn/record.h"
#include "primal/error.h"

namespace primal::analysis {

namespace {

bool is_causal_primal(nn::Attention& attention) { return attention.primal() != nullptr && attention.options().causal; }

}  // namespace

SeenByLayers ksvd_seen(torch::nn::Module& model, const std::function<void()>& pass) {
  SeenByLayers seen;
  nn::listen(model, pass, [&](const nn::AttentionRecord& call) {
    if (!is_causal_primal(*call.attention)) return;
    const auto factors = ksvd_factors(*call.attention->primal(), call.input, call.padding);
    if (!factors) return;
    const auto before = seen.find(call.attention);
    if (before == seen.end()) {
      seen.emplace(call.attention, joined({*factors}));
    } else {
      before->second = joined({before->second, *factors});
    }
  });
  return seen;
}

KsvdReplacement::KsvdReplacement(std::shared_ptr<nn::Attention> attention, const KsvdFactors& seen,
                                 InsteadOfScores instead, uint64_t seed)
    : attention_(std::move(attention)) {
  if (!is_causal_primal(*attention_)) throw Error("ksvd: only a causal primal layer has weights to replace");
  const PrimalAttentionImpl& layer = *attention_->primal();
  own_we_ = layer.we.detach().clone();
  own_wr_ = layer.wr.detach().clone();
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const KsvdDirections own{own_we_.to(at::kDouble), own_wr_.to(at::kDouble)};
  const KsvdDirections other = other_directions(seen, own, instead, generator);
  set(other.we, other.wr);
}

KsvdReplacement::~KsvdReplacement() { set(own_we_, own_wr_); }

void KsvdReplacement::set(const at::Tensor& we, const at::Tensor& wr) {
  const at::NoGradGuard no_grad;
  attention_->primal()->we.copy_(we);
  attention_->primal()->wr.copy_(wr);
}

}  // namespace primal::analysis
