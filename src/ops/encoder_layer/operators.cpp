// torch.ops.primal.encoder_layer: schema, CPU implementation and shapes.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "ops/attention/dispatch.h"
#include "ops/encoder_layer/arguments.h"
#include "ops/fused/attention.h"

namespace primal::ops {

namespace {

FourTensors encoder_layer_forward(PRIMAL_ENCODER_PARAMETERS) {
  const auto a = encoder_arguments(PRIMAL_ENCODER_ARGUMENTS);
  auto [out, le, lr, tr, kept] = fused::encoder_layer(a, /*keep=*/false);
  return {out.to(x.scalar_type()), le, lr, tr};
}

FiveTensors encoder_layer_keeping(PRIMAL_ENCODER_PARAMETERS) {
  const auto a = encoder_arguments(PRIMAL_ENCODER_ARGUMENTS);
  auto [out, le, lr, tr, kept] = fused::encoder_layer(a, !recompute);
  return {out.to(x.scalar_type()), le, lr, tr, recompute ? at::empty({0}, x.options()) : kept.to(x.scalar_type())};
}

// x, then the parameters in their order, then attended and log_scale, if they were given.
std::vector<at::Tensor> encoder_layer_backward(const at::Tensor& grad_out, const at::Tensor& grad_le,
                                               const at::Tensor& grad_lr, const at::Tensor& grad_tr,
                                               const at::Tensor& kept, PRIMAL_ENCODER_PARAMETERS) {
  const auto a = encoder_arguments(PRIMAL_ENCODER_ARGUMENTS);
  const auto g = fused::encoder_layer_backward(a, grad_out.to(at::kFloat), {grad_le, grad_lr, grad_tr},
                                               recompute ? at::Tensor() : kept.to(at::kFloat));
  const auto& t = g.attention;
  std::vector<at::Tensor> result{g.x.to(x.scalar_type()),
                                 t.q_weight,
                                 t.q_bias,
                                 t.k_weight,
                                 t.k_bias,
                                 t.we,
                                 t.wr,
                                 t.lam,
                                 t.score_weight,
                                 t.score_bias,
                                 t.out_weight,
                                 t.out_bias,
                                 g.norm1.weight,
                                 g.norm1.bias,
                                 g.norm2.weight,
                                 g.norm2.bias,
                                 g.linear1_weight,
                                 g.linear1_bias,
                                 g.linear2_weight,
                                 g.linear2_bias};
  for (size_t i = 0; i < kEncoderParameters; ++i) {
    if (parameters[i].numel() == 0) result[i + 1] = at::empty({0}, parameters[i].options());
    result[i + 1] = result[i + 1].to(parameters[i].scalar_type()).contiguous();
  }
  if (attended) result.push_back(g.attended.to(attended->scalar_type()));
  if (log_scale) result.push_back(t.log_scale.to(log_scale->scalar_type()));
  return result;
}

at::Tensor empty(const at::Tensor& like, const std::vector<c10::SymInt>& sizes) {
  return at::empty_symint(sizes, like.options());
}

FiveTensors encoder_layer_keeping_meta(PRIMAL_ENCODER_PARAMETERS) {
  const auto a = encoder_arguments(PRIMAL_ENCODER_ARGUMENTS);
  const auto term = [&] { return at::empty_symint({x.sym_size(0)}, x.options().dtype(at::kFloat)); };
  const c10::SymInt per_token = x.sym_size(2) * (norm_first ? 3 : 4) + a.linear1_weight.sym_size(0);
  const c10::SymInt kept = recompute ? c10::SymInt(0) : x.sym_size(0) * x.sym_size(1) * per_token;
  return {empty(x, x.sym_sizes().vec()), term(), term(), term(), empty(x, {kept})};
}

FourTensors encoder_layer_meta(PRIMAL_ENCODER_PARAMETERS) {
  auto [out, le, lr, tr, kept] = encoder_layer_keeping_meta(PRIMAL_ENCODER_ARGUMENTS);
  return {out, le, lr, tr};
}

std::vector<at::Tensor> encoder_layer_backward_meta(const at::Tensor& /*grad_out*/, const at::Tensor& /*grad_le*/,
                                                    const at::Tensor& /*grad_lr*/, const at::Tensor& /*grad_tr*/,
                                                    const at::Tensor& /*kept*/, PRIMAL_ENCODER_PARAMETERS) {
  encoder_arguments(PRIMAL_ENCODER_ARGUMENTS);
  std::vector<at::Tensor> result{empty(x, x.sym_sizes().vec())};
  for (const at::Tensor& parameter : parameters) result.push_back(empty(parameter, parameter.sym_sizes().vec()));
  for (const OptionalTensor& tensor : {attended, log_scale}) {
    if (tensor) result.push_back(empty(*tensor, tensor->sym_sizes().vec()));
  }
  return result;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(primal, m) {
  const auto define = [&](const std::string& schema) { m.def(schema.c_str(), {at::Tag::pt2_compliant_tag}); };
  const std::string arguments =
      "Tensor x, Tensor[] parameters, Tensor? padding=None, Tensor? unread=None, *, bool data_dependent=True, bool "
      "respect_padding=True, "
      "bool trace_on_data=False, str sampling=\"exact\", bool norm_first=False, str activation=\"gelu\", "
      "float epsilon=1e-05, float dropout=0.0, Tensor? seeds=None, bool recompute=False, Tensor? attended=None, "
      "bool causal=False, Tensor? log_scale=None";
  const std::string results = "Tensor out, Tensor le, Tensor lr, Tensor tr";
  define("encoder_layer(" + arguments + ") -> (" + results + ")");
  define("encoder_layer_keeping(" + arguments + ") -> (" + results + ", Tensor kept)");
  define("encoder_layer_backward(Tensor grad_out, Tensor grad_le, Tensor grad_lr, Tensor grad_tr, Tensor kept, " +
         arguments + ") -> Tensor[]");
}

TORCH_LIBRARY_FRAGMENT(primal_util, m) { m.def("is_fused(ScalarType dtype) -> bool", fused::has_kernel_for); }

TORCH_LIBRARY_IMPL(primal, CPU, m) {
  m.impl("encoder_layer", encoder_layer_forward);
  m.impl("encoder_layer_keeping", encoder_layer_keeping);
  m.impl("encoder_layer_backward", encoder_layer_backward);
}

TORCH_LIBRARY_IMPL(primal, Meta, m) {
  m.impl("encoder_layer", encoder_layer_meta);
  m.impl("encoder_layer_keeping", encoder_layer_keeping_meta);
  m.impl("encoder_layer_backward", encoder_layer_backward_meta);
}

}  // namespace primal::ops
