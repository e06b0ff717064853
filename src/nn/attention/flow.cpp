#include "nn/attention/flow.h"

#include <ATen/ATen.h>

#include "nn/attention/kernel_sums.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

// Added to both factors of every product that becomes a flow, as published.
constexpr double kFlowEpsilon = 1e-6;

// The logarithm of a sum over no source: finite, so that the difference of two of them is not NaN.
constexpr double kNoSource = -1e30;

// [B, H, N, d] and [B, H, N or 1, d] -> [B, H, N]
torch::Tensor flow_between(const torch::Tensor& x, const torch::Tensor& sum) {
  return ((x + kFlowEpsilon) * (sum + kFlowEpsilon)).sum(-1);
}

torch::Tensor clamped_source(const torch::Tensor& flow, std::optional<double> clamp,
                             const std::optional<torch::Tensor>& padding) {
  const torch::Tensor source = clamp ? flow.clamp(-*clamp, *clamp) : flow;
  return padding ? source.masked_fill(padding->unsqueeze(1), kNoSource) : source;
}

// What the causal form keeps of the tokens before, padded ones left out.
struct FlowPast {
  torch::Tensor tokens;       // [B, 1, 1], their number
  torch::Tensor a, b;         // [B, H, 1, d], sums
  torch::Tensor a_in, b_out;  // [B, H, 1, d], sums of t a_i / I_i and t b_j / O_j
  torch::Tensor sources;      // [B, H, 1], the logarithm of the sum of exp(O^)
  torch::Tensor mixed;        // [B, H, d, d], the sum of b_j and its competing v_j

  explicit FlowPast(const torch::Tensor& like) {
    const int64_t batch = like.size(0), heads = like.size(1), d = like.size(3);
    tokens = at::zeros({batch, 1, 1}, like.options());
    a = b = a_in = b_out = at::zeros({batch, heads, 1, d}, like.options());
    sources = at::full({batch, heads, 1}, kNoSource, like.options());
    mixed = at::zeros({batch, heads, d, d}, like.options());
  }
  explicit FlowPast(const Past& p)
      : tokens(p[0]), a(p[1]), b(p[2]), a_in(p[3]), b_out(p[4]), sources(p[5]), mixed(p[6]) {}

  Past tensors() const { return {tokens, a, b, a_in, b_out, sources, mixed}; }
};

torch::Tensor last_of(const torch::Tensor& running) { return running.narrow(2, running.size(2) - 1, 1); }

// Sums along the tokens that go on from `before`, which is moved on.
torch::Tensor running_sums(const torch::Tensor& x, torch::Tensor& before) {
  const torch::Tensor sums = x.cumsum(2) + before;
  before = last_of(sums);
  return sums;
}

// t exp(O^_j) / (sum over i <= j of exp(O^_i)), as logarithms: without a clamp exp(O^) may leave the range of a float.
torch::Tensor causal_competition(const torch::Tensor& source, const torch::Tensor& t, torch::Tensor& before) {
  const torch::Tensor sources = at::logaddexp(source.logcumsumexp(2), before);
  before = last_of(sources);
  return (source - sources).exp() * t;
}

class FlowMixing : public ValueMixing {
 public:
  explicit FlowMixing(const AttentionOptions& o) : clamp_(o.flow.clamp), causal_(o.causal), masking_(o.masking) {}

  torch::Tensor mix(torch::nn::Module& /*module*/, const Heads& heads,
                    const std::optional<torch::Tensor>& padding) const override {
    return causal_ ? causal_flow_attention(heads, left_out(padding), clamp_)
                   : flow_attention(heads, left_out(padding), clamp_);
  }

  torch::Tensor step(torch::nn::Module& /*module*/, const Heads& heads, Past& past,
                     const std::optional<torch::Tensor>& padding) const override {
    return causal_flow_attention(heads, left_out(padding), clamp_, &past);
  }

 private:
  // As published, padded tokens count like any other.
  std::optional<torch::Tensor> left_out(const std::optional<torch::Tensor>& padding) const {
    return masking_ == Masking::right ? padding : std::nullopt;
  }

  std::optional<double> clamp_;
  bool causal_;
  Masking masking_;
};

}  // namespace

Flows conserved_flows(const torch::Tensor& a, const torch::Tensor& b) {
  const auto total = [](const torch::Tensor& x) { return x.sum(2, /*keepdim=*/true); };
  const torch::Tensor incoming = flow_between(a, total(b)), outgoing = flow_between(b, total(a));
  return {.incoming = incoming,
          .outgoing = outgoing,
          .kept_incoming = flow_between(a, total(b / outgoing.unsqueeze(-1))),
          .kept_outgoing = flow_between(b, total(a / incoming.unsqueeze(-1)))};
}

torch::Tensor flow_attention(const Heads& heads, const std::optional<torch::Tensor>& padding,
                             std::optional<double> clamp) {
  const torch::Tensor a = cleared(heads.q.sigmoid(), padding), b = cleared(heads.k.sigmoid(), padding);
  const Flows flows = conserved_flows(a, b);
  // In a sample without any token the softmax is over padding, and n is 0.
  const torch::Tensor share = clamped_source(flows.kept_outgoing, clamp, padding).softmax(-1).unsqueeze(-1);
  const torch::Tensor competing = cleared(heads.v, padding) * (share * token_counts(heads.v, padding));
  return sums_over_all(a / flows.incoming.unsqueeze(-1), b, competing) * flows.kept_incoming.sigmoid().unsqueeze(-1);
}

torch::Tensor causal_flow_attention(const Heads& heads, const std::optional<torch::Tensor>& padding,
                                    std::optional<double> clamp, Past* past) {
  if (heads.q.size(2) == 0) return at::zeros_like(heads.v);
  FlowPast before = past != nullptr && !past->empty() ? FlowPast(*past) : FlowPast(heads.q);
  const torch::Tensor a = cleared(heads.q.sigmoid(), padding), b = cleared(heads.k.sigmoid(), padding);
  const torch::Tensor real =
      padding ? padding->logical_not().to(a.scalar_type()).unsqueeze(1) : at::ones({1, 1, a.size(2)}, a.options());
  const torch::Tensor t = running_sums(real, before.tokens);  // [B, 1, N]
  // Before the first real token t is 0; what is divided by it there matters to nobody, but must not be NaN.
  const torch::Tensor per_token = t.clamp_min(1).reciprocal();

  const torch::Tensor incoming = flow_between(a, running_sums(b, before.b));
  const torch::Tensor outgoing = flow_between(b, running_sums(a, before.a));
  const torch::Tensor b_out = b * (t / outgoing).unsqueeze(-1), a_in = a * (t / incoming).unsqueeze(-1);
  const torch::Tensor kept_incoming = flow_between(a, running_sums(b_out, before.b_out)) * per_token;
  const torch::Tensor kept_outgoing = flow_between(b, running_sums(a_in, before.a_in)) * per_token;
  const torch::Tensor competition =
      causal_competition(clamped_source(kept_outgoing, clamp, padding), t, before.sources);
  const torch::Tensor mixed = sums_over_past(a / incoming.unsqueeze(-1), b,
                                             cleared(heads.v, padding) * competition.unsqueeze(-1), &before.mixed);
  if (past != nullptr) *past = before.tensors();
  return mixed * kept_incoming.sigmoid().unsqueeze(-1);
}

std::unique_ptr<Attention> make_flow_attention(const AttentionOptions& options) {
  check_options("flow", options);
  if (const auto clamp = options.flow.clamp; clamp && !(*clamp > 0)) {
    throw Error(c10::str("flow_attention: clamp must be above 0, got ", *clamp));
  }
  return make_value_mixing_attention(options, std::make_shared<FlowMixing>(options));
}

}  // namespace primal::nn
