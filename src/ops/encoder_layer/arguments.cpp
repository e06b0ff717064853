#include "ops/encoder_layer/arguments.h"

#include <ATen/ATen.h>

#include "ops/attention/check.h"
#include "ops/fused/fading_projection.h"

namespace primal::ops {

namespace {

void check_size(const at::Tensor& tensor, const char* name, const std::vector<c10::SymInt>& expected) {
  TORCH_CHECK_VALUE(tensor.sym_sizes().equals(expected), "encoder_layer: ", name, " must be ",
                    c10::SymIntArrayRef(expected), ", got ", tensor.sym_sizes());
}

bool is_known(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kBFloat16;
}

std::vector<at::Tensor> in_float32(at::TensorList tensors) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& tensor : tensors) result.push_back(tensor.to(at::kFloat));
  return result;
}

kernels::Activation activation_of(const std::string& name) {
  if (name == "gelu") return kernels::Activation::gelu;
  TORCH_CHECK_VALUE(name == "relu", "encoder_layer: activation must be gelu or relu, got ", name);
  return kernels::Activation::relu;
}

// A tensor and not numbers, so that a compiled graph can draw them. Without dropout nobody reads them.
std::array<uint64_t, 3> seeds_of(double dropout, const OptionalTensor& seeds) {
  std::array<uint64_t, 3> result{};
  if (dropout == 0) return result;
  TORCH_CHECK_VALUE(seeds, "encoder_layer: dropout needs seeds");
  TORCH_CHECK_VALUE(seeds->scalar_type() == at::kLong && seeds->dim() == 1 && seeds->sym_size(0) == 3,
                    "encoder_layer: seeds must be int64 [3], got ", seeds->scalar_type(), " ", seeds->sym_sizes());
  if (seeds->is_meta()) return result;
  const at::Tensor numbers = seeds->cpu().contiguous();
  const int64_t* from = numbers.const_data_ptr<int64_t>();
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<uint64_t>(from[i]);
  return result;
}

}  // namespace

fused::EncoderLayerArguments encoder_arguments(PRIMAL_ENCODER_PARAMETERS) {
  TORCH_CHECK_VALUE(parameters.size() == kEncoderParameters, "encoder_layer: ", kEncoderParameters,
                    " parameters are needed, got ", parameters.size());
  TORCH_CHECK_VALUE(dropout >= 0 && dropout < 1, "encoder_layer: dropout must be in [0, 1), got ", dropout);
  for (const at::Tensor& tensor : parameters) {
    TORCH_CHECK_TYPE(is_known(tensor), "encoder_layer: parameters must be float32 or bfloat16, got ",
                     tensor.scalar_type());
  }
  TORCH_CHECK_TYPE(is_known(x), "encoder_layer: x must be float32 or bfloat16, got ", x.scalar_type());
  TORCH_CHECK_TYPE(!log_scale || is_known(*log_scale), "encoder_layer: log_scale must be float32 or bfloat16, got ",
                   log_scale->scalar_type());
  const std::vector<at::Tensor> p = in_float32(parameters);
  const auto bias = [&](size_t i) {
    return p[i].dim() == 1 && p[i].sym_size(0) == 0 ? std::nullopt : OptionalTensor(p[i]);
  };
  fused::EncoderLayerArguments a{
      .attention = {x.to(at::kFloat),
                    std::nullopt,
                    p[0],
                    bias(1),
                    p[2],
                    bias(3),
                    p[4],
                    p[5],
                    p[6],
                    p[7],
                    bias(8),
                    p[9],
                    bias(10),
                    padding,
                    /*key_padding=*/std::nullopt,
                    log_scale ? OptionalTensor(log_scale->to(at::kFloat)) : std::nullopt,
                    {"cosine", causal, data_dependent, respect_padding, trace_on_data, sampling}},
      .norm1 = {p[11], p[12]},
      .norm2 = {p[13], p[14]},
      .linear1_weight = p[15],
      .linear1_bias = p[16],
      .linear2_weight = p[17],
      .linear2_bias = p[18],
      .norm_first = norm_first,
      .activation = activation_of(activation),
      .epsilon = epsilon,
      .dropout = dropout,
      .seeds = seeds_of(dropout, seeds),
      .unread = unread,
      .attended = attended ? OptionalTensor(attended->to(at::kFloat)) : std::nullopt};
  check_attention(a.attention);
  TORCH_CHECK_VALUE(fused::FadingProjection::serves(a.attention), "encoder_layer: the ", a.attention.we.sym_size(0),
                    " heads cannot share the time scales of log_scale evenly, got ", log_scale->sym_sizes());
  const c10::SymInt width = x.sym_size(2);
  TORCH_CHECK_VALUE(p[15].dim() == 2, "encoder_layer: linear1_weight must be [F, D], got ", p[15].sym_sizes());
  const c10::SymInt inner = p[15].sym_size(0);
  const char* norms[] = {"norm1_weight", "norm1_bias", "norm2_weight", "norm2_bias"};
  for (size_t i = 0; i < 4; ++i) check_size(p[11 + i], norms[i], {width});
  check_size(p[15], "linear1_weight", {inner, width});
  check_size(p[16], "linear1_bias", {inner});
  check_size(p[17], "linear2_weight", {width, inner});
  check_size(p[18], "linear2_bias", {width});
  if (unread) {
    check_size(*unread, "unread", {x.sym_size(0), x.sym_size(1)});
    TORCH_CHECK_TYPE(unread->scalar_type() == at::kBool, "encoder_layer: unread must be bool, got ",
                     unread->scalar_type());
  }
  if (attended) {
    check_size(*attended, "attended", {x.sym_size(0), x.sym_size(1), width});
    TORCH_CHECK_TYPE(attended->scalar_type() == x.scalar_type(), "encoder_layer: attended is ", attended->scalar_type(),
                     " but x is ", x.scalar_type());
    TORCH_CHECK_VALUE(attended->device() == x.device(), "encoder_layer: attended is on ", attended->device(),
                      " but x is on ", x.device());
  }
  return a;
}

}  // namespace primal::ops
