// The arguments of torch.ops.primal.encoder_layer as the dispatcher hands them over.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "ops/fused/encoder_layer.h"

namespace primal::ops {

/// In this order, as one list: q_weight, q_bias, k_weight, k_bias, we, wr, lam, score_weight, score_bias, out_weight,
/// out_bias, norm1_weight, norm1_bias, norm2_weight, norm2_bias, linear1_weight, linear1_bias, linear2_weight,
/// linear2_bias. A bias of the attention that does not exist is an empty tensor.
constexpr size_t kEncoderParameters = 19;

#define PRIMAL_ENCODER_PARAMETERS                                                                                  \
  const at::Tensor &x, at::TensorList parameters, const OptionalTensor &padding, const OptionalTensor &unread,     \
      bool data_dependent, bool respect_padding, bool trace_on_data, const std::string &sampling, bool norm_first, \
      const std::string &activation, double epsilon, double dropout, const OptionalTensor &seeds,                  \
      [[maybe_unused]] bool recompute, const OptionalTensor &attended, bool causal, const OptionalTensor &log_scale

#define PRIMAL_ENCODER_ARGUMENTS                                                                                    \
  x, parameters, padding, unread, data_dependent, respect_padding, trace_on_data, sampling, norm_first, activation, \
      epsilon, dropout, seeds, recompute, attended, causal, log_scale

/// In float32 and checked: throws a ValueError that gives both values.
fused::EncoderLayerArguments encoder_arguments(PRIMAL_ENCODER_PARAMETERS);

}  // namespace primal::ops
