#include "nn/primal_attention_init.h"

#include <torch/nn/init.h>

#include <cmath>

namespace primal::nn {

void init_projection(torch::Tensor& weights, Init init) {
  const torch::NoGradGuard no_grad;
  if (init == Init::reference) {
    torch::nn::init::orthogonal_(weights);
    return;
  }
  for (int64_t head = 0; head < weights.size(0); ++head) {
    torch::Tensor block = torch::empty_like(weights[head]);
    weights[head].copy_(torch::nn::init::orthogonal_(block));
  }
}

void init_lambda(torch::Tensor& lam, LambdaForm form) {
  const torch::NoGradGuard no_grad;
  lam.uniform_(0, 1);
  if (form == LambdaForm::squared) return;
  // log and the inverse of softplus have no finite value at 0.
  const torch::Tensor lambda = lam.square().clamp_min(1e-6);
  lam.copy_(lam_of(lambda, form));
}

void init_log_scale(torch::Tensor& log_scale, int64_t longest) {
  const torch::NoGradGuard no_grad;
  const double last = std::log(static_cast<double>(longest));
  if (log_scale.size(0) == 1) {
    log_scale.fill_(0.5 * last);
  } else {
    log_scale.copy_(torch::linspace(0, last, log_scale.size(0), torch::kDouble));
  }
}

torch::Tensor lambda_of(const torch::Tensor& lam, LambdaForm form) {
  switch (form) {
    case LambdaForm::squared:
      return lam.square();
    case LambdaForm::softplus:
      return at::softplus(lam);
    case LambdaForm::exp:
      return lam.exp();
  }
  throw Error("primal_attention: unknown form of Lambda");
}

torch::Tensor lam_of(const torch::Tensor& lambda, LambdaForm form) {
  switch (form) {
    case LambdaForm::squared:
      return lambda.sqrt();
    case LambdaForm::softplus:
      return lambda + at::log(-at::expm1(-lambda));  // exp(Lambda) may be too large
    case LambdaForm::exp:
      return lambda.log();
  }
  throw Error("primal_attention: unknown form of Lambda");
}

}  // namespace primal::nn
