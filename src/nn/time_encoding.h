// Functional time encoding: when a token happened, not only in which order.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

namespace primal::nn {

struct TimeEncodingOptions {
  int64_t width = 0;        ///< D
  int64_t frequencies = 0;  ///< m; 0 means D / 2
};

/// By Bochner's theorem a translation-invariant kernel of two instants, K(t - t'), is the product of the features
/// sqrt(1 / m) [cos(w_i t), sin(w_i t)] with frequencies w_i drawn from its spectrum. The frequencies are learnt, so
/// the kernel is; a linear map then brings the features to the width of the tokens, to be added to them.
class TimeEncodingImpl : public torch::nn::Cloneable<TimeEncodingImpl> {
 public:
  explicit TimeEncodingImpl(TimeEncodingOptions options);

  /// times: [B, N], in median steps since the start of the sequence -> [B, N, D]
  torch::Tensor forward(const torch::Tensor& times);
  void reset() override;

  torch::Tensor frequencies;  ///< [m], radians per median step
  torch::nn::Linear proj{nullptr};

 private:
  TimeEncodingOptions options_;
};
TORCH_MODULE(TimeEncoding);

}  // namespace primal::nn
