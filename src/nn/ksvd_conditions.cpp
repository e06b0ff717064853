#include "nn/ksvd_conditions.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "nn/primal_attention_arguments.h"
#include "ops/attention/check.h"
#include "ops/attention/pass.h"
#include "ops/fading_mean.h"
#include "ops/running_mean.h"
#include "ops/sampling.h"

namespace primal::nn {

namespace {

using ops::AttentionArguments;
using ops::OptionalTensor;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What the passes of the operators call, with the derivative that their backward passes call.
struct FeaturesFunction : torch::autograd::Function<FeaturesFunction> {
  static Tensor forward(AutogradContext* ctx, const Tensor& u, const std::string& map) {
    ctx->save_for_backward({u});
    ctx->saved_data["map"] = map;
    return find_feature_map(map)->forward(u);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto map = find_feature_map(ctx->saved_data["map"].toStringRef());
    return {map->backward(ctx->get_saved_variables()[0], grads[0]), Tensor()};
  }
};

// Without log_scale all tokens of the past count the same.
struct MeanFunction : torch::autograd::Function<MeanFunction> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const OptionalTensor& log_scale,
                        const OptionalTensor& left_out) {
    const Tensor mean = log_scale ? ops::fading_mean(x, *log_scale, left_out) : ops::running_mean(x, left_out);
    ctx->save_for_backward({x, log_scale.value_or(Tensor()), left_out.value_or(Tensor()), mean});
    return mean;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list s = ctx->get_saved_variables();
    const OptionalTensor left_out = s[2].defined() ? OptionalTensor(s[2]) : std::nullopt;
    if (!s[1].defined()) return {ops::running_mean_backward(grads[0], left_out), Tensor(), Tensor()};
    const auto gradients = ops::fading_mean_backward(grads[0], s[0], s[3], s[1], left_out);
    return {gradients.x, gradients.log_scale.to(s[1].scalar_type()), Tensor()};
  }
};

// phi of the projected tokens, zero where left out: [B, H, N, p]
Tensor features_of(const AttentionArguments& a, const Tensor& tokens, const Tensor& weight,
                   const OptionalTensor& bias) {
  const OptionalTensor left_out = a.left_out();
  const auto wide = tokens.scalar_type();
  Tensor u = at::linear(tokens, weight.to(wide), bias ? OptionalTensor(bias->to(wide)) : std::nullopt);
  if (a.mode.causal) u = MeanFunction::apply(u, a.log_scale, left_out);
  const Tensor phi = FeaturesFunction::apply(ops::split_heads(u, a.heads()), a.mode.feature_map);
  return left_out ? phi.masked_fill(left_out->view({left_out->size(0), 1, -1, 1}), 0) : phi;
}

// f(X): [B, H, n, p]
Tensor sampled_rows(const AttentionArguments& a, const Tensor& tokens, int64_t features) {
  const Tensor positions = ops::sample_positions(tokens.size(1), a.left_out(), a.we.size(1),
                                                 ops::sampling_of(a.mode.sampling), tokens.device());
  const Tensor rows = ops::split_heads(ops::take_rows(tokens, positions), a.heads());
  return rows.size(-1) == features ? rows : FeaturesFunction::apply(rows, a.mode.feature_map);
}

// Squared norms of [B, H, n, s] -> [B, H]
Tensor square_norms(const Tensor& x) { return x.square().sum({-2, -1}); }

// |w - wanted|^2 / |w|^2, w: [1 or B, H, n, s] -> [B, H], or [1, H] of the mean over the batch
Tensor squared_residual(const Tensor& w, const Tensor& wanted, bool of_mean) {
  const Tensor off = of_mean ? (w - wanted).mean(0, /*keepdim=*/true) : w - wanted;
  const Tensor all = of_mean ? square_norms(w).mean(0, /*keepdim=*/true) : square_norms(w);
  return square_norms(off) / all.clamp_min(1e-30);  // no weights, no residual
}

// L = Lambda / N: [B or 1, H, 1, s]
Tensor scale_of(const AttentionArguments& a, const Tensor& tokens) {
  const Tensor lambda = a.lam.to(tokens.scalar_type()).unsqueeze(0).unsqueeze(2);
  const OptionalTensor left_out = a.left_out();
  if (!left_out) return lambda / static_cast<double>(std::max<int64_t>(tokens.size(1), 1));
  return lambda / left_out->logical_not().sum(1).clamp_min(1).to(tokens.scalar_type()).view({-1, 1, 1, 1});
}

}  // namespace

Tensor ksvd_conditions(const PrimalAttentionImpl& layer, const Tensor& input, const std::optional<Tensor>& padding,
                       KsvdReduction reduction) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const AttentionArguments a = attention_arguments(layer, input, {.query_padding = padding});
  const Tensor tokens = ops::zero_where(input, a.left_out()).to(ops::accumulate_dtype(input.scalar_type()));
  const Tensor phi_q = features_of(a, tokens, a.q_weight, a.q_bias);
  const Tensor phi_k = features_of(a, tokens, a.k_weight, a.k_bias);
  Tensor we = a.we.to(tokens.scalar_type()).unsqueeze(0), wr = a.wr.to(tokens.scalar_type()).unsqueeze(0);
  Tensor f;
  if (a.mode.data_dependent) f = sampled_rows(a, tokens, phi_q.size(-1));
  if (f.defined() && a.mode.trace_on_data) {
    we = at::matmul(f.transpose(-2, -1), we);
    wr = at::matmul(f.transpose(-2, -1), wr);
    f = Tensor();
  }
  const Tensor scale = scale_of(a, tokens);
  const auto wanted = [&](const Tensor& phi, const Tensor& w) {  // of the other side: F Phi^T (Phi F^T w) L
    const Tensor scores = at::matmul(phi, f.defined() ? at::matmul(f.transpose(-2, -1), w) : w);
    const Tensor summed = at::matmul(phi.transpose(-2, -1), scores) * scale;
    return f.defined() ? at::matmul(f, summed) : summed;
  };
  const bool of_mean = reduction == KsvdReduction::batch_mean;
  const Tensor samples =
      (squared_residual(we, wanted(phi_k, wr), of_mean) + squared_residual(wr, wanted(phi_q, we), of_mean)).mean(1);
  return reduction == KsvdReduction::none ? samples : samples.mean();
}

}  // namespace primal::nn
