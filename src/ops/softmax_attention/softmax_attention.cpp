#include "ops/softmax_attention/softmax_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/derivatives.h"
#include "ops/dropout.h"
#include "ops/fused/attention.h"
#include "ops/softmax_attention/pass.h"

namespace primal::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr char kName[] = "softmax_attention";

// With the channels of a head beside each other.
at::Tensor readable(const at::Tensor& x) { return x.stride(-1) == 1 ? x : x.contiguous(); }

class SoftmaxFunction : public torch::autograd::Function<SoftmaxFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            SoftmaxAttention a, int64_t seed) {
    a.q = readable(q);
    a.k = readable(k);
    a.v = readable(v);
    const SoftmaxForward result = softmax_attention_forward(a, static_cast<uint64_t>(seed));
    ctx->save_for_backward({a.q, a.k, a.v, a.padding.value_or(at::Tensor()), result.out, result.log_sum});
    ctx->saved_data["padded_score"] = a.padded_score;
    ctx->saved_data["behind"] = a.reach.behind;
    ctx->saved_data["ahead"] = a.reach.ahead;
    ctx->saved_data["dropout"] = a.dropout;
    ctx->saved_data["seed"] = seed;
    return result.out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(), kName, " has no second derivative");
    const variable_list saved = ctx->get_saved_variables();
    SoftmaxAttention a{.q = saved[0], .k = saved[1], .v = saved[2]};
    if (saved[3].defined()) a.padding = saved[3];
    a.padded_score = ctx->saved_data["padded_score"].toDouble();
    a.reach = {.behind = ctx->saved_data["behind"].toInt(), .ahead = ctx->saved_data["ahead"].toInt()};
    a.dropout = ctx->saved_data["dropout"].toDouble();
    const auto seed = static_cast<uint64_t>(ctx->saved_data["seed"].toInt());
    const SoftmaxGradients g = softmax_attention_backward(a, seed, {saved[4], saved[5]}, readable(grads[0]));
    return {g.q, g.k, g.v, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool has_softmax_attention(const at::Tensor& q) {
  return q.is_cpu() && fused::has_kernel_for(at::kFloat) && q.numel() > 0 &&
         (q.scalar_type() == at::kFloat || q.scalar_type() == at::kBFloat16);
}

at::Tensor softmax_attention(const SoftmaxAttention& arguments) {
  refuse_tangents(kName, {arguments.q, arguments.k, arguments.v});
  SoftmaxAttention a = arguments;
  if (a.padding) a.padding = a.padding->contiguous();
  const int64_t seed = a.dropout > 0 ? draw_dropout_seed() : 0;
  const at::ScalarType dtype = a.q.scalar_type();
  const auto precise = [](const at::Tensor& x) { return x.to(at::kFloat); };
  return SoftmaxFunction::apply(precise(a.q), precise(a.k), precise(a.v), a, seed).to(dtype);
}

}  // namespace primal::ops
