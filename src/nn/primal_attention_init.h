// How a layer's parameters begin.
#pragma once

#include <ATen/core/Tensor.h>

#include "primal/attention.h"

namespace primal::nn {

/// Fills We or Wr, [H, A, s], in place. reference: one orthonormal row of A*s numbers per head (SPEC 1.1);
/// per_head_orthonormal: each head's [A, s] block has orthonormal columns (rows when A < s).
void init_projection(torch::Tensor& weights, Init init);

/// Fills lam, [H, s], so that Lambda = u^2 with u uniform in [0, 1), whatever the form.
void init_lambda(torch::Tensor& lam, LambdaForm form);

/// Fills log_scale, [H], with the logs of time scales that are log-spaced from 1 token to `longest`; a single head has
/// the one between.
void init_log_scale(torch::Tensor& log_scale, int64_t longest);

/// Lambda from its parameter.
torch::Tensor lambda_of(const torch::Tensor& lam, LambdaForm form);
/// The way back. lambda: positive
torch::Tensor lam_of(const torch::Tensor& lambda, LambdaForm form);

}  // namespace primal::nn
