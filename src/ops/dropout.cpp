#include "ops/dropout.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <mutex>

#include "kernels/cpu_target.h"
#include "kernels/dropout.h"
#include "ops/parallel.h"

namespace primal::ops {

namespace {

constexpr int64_t kBlock = 1 << 15;  // elements per unit of parallel work: 128 KiB

at::Tensor dropped(const at::Tensor& input, double p, uint64_t seed) {
  kernels::use_cpu_target_of_environment();
  const at::Tensor x = input.contiguous();
  at::Tensor out = at::empty_like(x);
  const auto threshold = static_cast<uint32_t>(std::lround(p * 4294967296.0));
  const auto scale = static_cast<float>(1 / (1 - p));
  const float* from = x.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  parallel_for(0, x.numel(), kBlock, [&](int64_t begin, int64_t end) {
    kernels::dropout(from + begin, to + begin, end - begin, seed, begin, threshold, scale);
  });
  return out;
}

class Dropout : public torch::autograd::Function<Dropout> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, double p, int64_t seed) {
    ctx->saved_data["p"] = p;
    ctx->saved_data["seed"] = seed;
    return dropped(x, p, static_cast<uint64_t>(seed));
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    // Through autograd once more: the gradient of the gradient is the same function.
    const int64_t seed = ctx->saved_data["seed"].toInt();
    return {apply(grads[0], ctx->saved_data["p"].toDouble(), seed), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

int64_t draw_dropout_seed() {
  const at::Generator generator = at::detail::getDefaultCPUGenerator();
  auto* cpu = at::check_generator<at::CPUGeneratorImpl>(generator);
  const std::lock_guard<std::mutex> lock(cpu->mutex_);
  return static_cast<int64_t>(cpu->random64());
}

at::Tensor dropout(const at::Tensor& x, double p, bool training) {
  if (!training || p == 0) return x;
  if (!x.is_cpu() || x.scalar_type() != at::kFloat) return at::dropout(x, p, training);
  return Dropout::apply(x, p, draw_dropout_seed());
}

}  // namespace primal::ops
