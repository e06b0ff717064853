// Typed handles of the attention operators. Looked up once.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <tuple>
#include <vector>

#include "ops/attention/arguments.h"

namespace primal::ops {

using FourTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using FiveTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using AttentionSignature = FourTensors(PRIMAL_ATTENTION_PARAMETERS);
using AttentionKeepingSignature = FiveTensors(PRIMAL_ATTENTION_PARAMETERS);
using AttentionStepSignature = FourTensors(PRIMAL_ATTENTION_PARAMETERS, const at::Tensor& q_sum,
                                           const at::Tensor& k_sum, const at::Tensor& count);
using AttentionBackwardSignature = std::vector<at::Tensor>(const at::Tensor& grad_out, const at::Tensor& grad_le,
                                                           const at::Tensor& grad_lr, const at::Tensor& grad_tr,
                                                           PRIMAL_ATTENTION_PARAMETERS, const OptionalTensor& kept);

const c10::TypedOperatorHandle<AttentionSignature>& attention_operator();
const c10::TypedOperatorHandle<AttentionKeepingSignature>& attention_keeping_operator();
const c10::TypedOperatorHandle<AttentionSignature>& attention_scores_operator();
const c10::TypedOperatorHandle<AttentionStepSignature>& attention_step_operator();
const c10::TypedOperatorHandle<AttentionBackwardSignature>& attention_backward_operator();

}  // namespace primal::ops
