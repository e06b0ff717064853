// Tokens mixed with their neighbours before an attention sees them: a short convolution, then a memory that fades.
//
//   TokenMixing mixing(TokenMixingOptions{.width = 64, .tokens = 1000, .kernel = 3});
//   torch::Tensor u = mixing(x, padding);
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/common.h>
#include <torch/nn/modules/container/any_value.h>
#include <torch/nn/pimpl.h>

#include <optional>

#include "primal/encoder_layer.h"

namespace primal::nn {

struct TokenMixingOptions {
  int64_t width = 0;  ///< D
  LayerMemory memory = LayerMemory::decay;
  int64_t scales = 4;     ///< S, time scales of the memory
  int64_t tokens = 1024;  ///< the longest time scale to begin with
  bool causal = false;    ///< only the past; else both ways, each with scales of its own
  int64_t kernel = 0;     ///< K, tokens of the convolution; odd unless causal; 0 = none
};

/// What a causal mixing remembers of the past; undefined where it has no such part.
struct TokenMixingState {
  torch::Tensor sums{};    ///< [B, S, D] float64
  torch::Tensor recent{};  ///< [B, K - 1, D]: the last tokens, 0 for padded ones
};

/// convolution: depth-wise, of the K last tokens or of the K around each; memory: fading averages at S time scales per
/// channel, each times a gain, and the token itself times a skip. A fresh one gives the token plus a mean of averages.
class TokenMixingImpl : public torch::nn::Cloneable<TokenMixingImpl> {
 public:
  /// Throws Error for options that do not fit together.
  explicit TokenMixingImpl(TokenMixingOptions options);

  /// x: [B, N, D] -> [B, N, D]; padding: [B, N] bool, true = padded. Such tokens count as 0 in the convolution, the
  /// memory passes over them, and the result is 0 there, whatever stands in them, even NaN.
  torch::Tensor forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding = {});

  /// Token-by-token decoding of a causal mixing, equal to the full pass.
  TokenMixingState initial_state(int64_t batch) const;
  /// The next tokens, [B, T, D] -> [B, T, D]; state is moved on. padding: [B, T] bool
  torch::Tensor step(const torch::Tensor& tokens, TokenMixingState& state,
                     const std::optional<torch::Tensor>& padding = {});

  const TokenMixingOptions& options() const { return options_; }

  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  torch::Tensor log_scale;  ///< [R, S, D]: log of the time scale in tokens; R = 1 if causal, else 2
  torch::Tensor gain;       ///< [R, S, D]: of the averages
  torch::Tensor skip;       ///< [D]
  torch::Tensor taps;       ///< [K, D], oldest token first

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(std::optional<torch::Tensor>())})

 private:
  torch::Tensor convolve(const torch::Tensor& x, torch::Tensor* recent) const;
  torch::Tensor average(const torch::Tensor& x, const std::optional<torch::Tensor>& padding, torch::Tensor* sums) const;

  TokenMixingOptions options_;
};
TORCH_MODULE(TokenMixing);

}  // namespace primal::nn
