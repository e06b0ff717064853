// The arguments of torch.ops.primal.moving_average.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace primal::ops {

/// In the order of the schema. B batch, N tokens, D width, S time scales; R directions: 1 forward in time, 2 also
/// backward.
struct MovingAverageArguments {
  at::Tensor x;                         // [B, N, D]
  at::Tensor log_scale;                 // [R, S, G]: log of the time scale in tokens; G divides D
  at::Tensor weight;                    // [R, S, D]
  std::optional<at::Tensor> skip{};     // [D]; absent: 0
  std::optional<at::Tensor> padding{};  // [B, N] bool, true = padded: passed over
  std::optional<at::Tensor> state{};    // [B, S, D] float64: the sums before the first token; one direction only

  int64_t batch() const { return x.size(0); }
  int64_t tokens() const { return x.size(1); }
  int64_t width() const { return x.size(2); }
  int64_t directions() const { return log_scale.size(0); }
  int64_t scales() const { return log_scale.size(1); }
};

/// Throws a ValueError (shape, device) or a TypeError (dtype) that gives both values. For real and symbolic sizes.
void check_moving_average(const MovingAverageArguments& arguments);

#define PRIMAL_AVERAGE_PARAMETERS                                                                                   \
  const at::Tensor &x, const at::Tensor &log_scale, const at::Tensor &weight, const std::optional<at::Tensor>&skip, \
      const std::optional<at::Tensor>&padding, const std::optional<at::Tensor>&state

#define PRIMAL_AVERAGE_ARGUMENTS x, log_scale, weight, skip, padding, state

}  // namespace primal::ops
