#include "ops/softmax_attention/softmax_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <limits>

#include "ops/derivatives.h"
#include "ops/dropout.h"
#include "ops/fused/attention.h"
#include "ops/softmax_attention/pass.h"

namespace primal::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr char kName[] = "softmax_attention";

void check_tokens(const char* name, const at::Tensor& x, at::IntArrayRef sizes) {
  TORCH_CHECK_TYPE(x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16, kName, ": ", name,
                   " must be float32 or bfloat16, got ", x.scalar_type());
  TORCH_CHECK_VALUE(x.is_cpu(), kName, ": ", name, " must be on the CPU, got ", x.device());
  TORCH_CHECK_VALUE(x.sizes() == sizes, kName, ": expected ", name, " ", sizes, ", got ", x.sizes());
}

void check(const SoftmaxAttention& a) {
  TORCH_CHECK_VALUE(a.q.dim() == 4, kName, ": expected q [B, H, N, d], got ", a.q.sizes());
  TORCH_CHECK_VALUE(a.k.dim() == 4, kName, ": expected k [B, H, M, d], got ", a.k.sizes());
  const std::array<int64_t, 4> of_keys{a.q.size(0), a.q.size(1), a.k.size(2), a.q.size(3)};
  check_tokens("q", a.q, a.q.sizes());
  check_tokens("k", a.k, of_keys);
  check_tokens("v", a.v, of_keys);
  if (a.padding) {
    TORCH_CHECK_TYPE(a.padding->scalar_type() == at::kBool, kName, ": padding must be bool, got ",
                     a.padding->scalar_type());
    const std::array<int64_t, 2> of_padding{a.q.size(0), a.k.size(2)};
    TORCH_CHECK_VALUE(a.padding->sizes() == of_padding, kName, ": expected padding ", at::IntArrayRef(of_padding),
                      ", got ", a.padding->sizes());
  }
  TORCH_CHECK_VALUE(a.padded_score < std::numeric_limits<double>::infinity(), kName,
                    ": padded_score must be finite or -inf, got ", a.padded_score);
  TORCH_CHECK_VALUE(a.reach.behind >= 0 && a.reach.ahead >= 0, kName, ": expected a reach of at least 0, got ",
                    a.reach.behind, " behind and ", a.reach.ahead, " ahead");
  TORCH_CHECK_VALUE(a.dropout >= 0 && a.dropout < 1, kName, ": dropout must be in [0, 1), got ", a.dropout);
}

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
    ctx->save_for_backward({a.q, a.k, a.v, a.padding.value_or(at::Tensor()), result.out, result.sums});
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

bool has_softmax_attention(const at::Tensor& q, double dropout) {
  if (!q.is_cpu() || q.numel() == 0) return false;
  const bool drops_narrow = q.scalar_type() == at::kBFloat16 && dropout > 0;
  return fused::has_kernel_for(drops_narrow ? at::kFloat : q.scalar_type());
}

at::Tensor softmax_attention(const SoftmaxAttention& arguments) {
  refuse_tangents(kName, {arguments.q, arguments.k, arguments.v});
  refuse_transforms(kName);
  check(arguments);
  SoftmaxAttention a = arguments;
  if (a.padding) a.padding = a.padding->contiguous();
  const int64_t seed = a.dropout > 0 ? draw_dropout_seed() : 0;
  const at::ScalarType dtype = a.q.scalar_type();
  const auto precise = [](const at::Tensor& x) { return x.to(at::kFloat); };
  return SoftmaxFunction::apply(precise(a.q), precise(a.k), precise(a.v), a, seed).to(dtype);
}

}  // namespace primal::ops
