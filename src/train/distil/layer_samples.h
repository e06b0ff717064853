// What an attention got and what it made of it, for another one to learn from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace primal::train {

/// Sequences of one length.
struct LayerSample {
  at::Tensor x, y;                      ///< [B, N, D]: input of the attention, and the output to be learnt
  std::optional<at::Tensor> padding{};  ///< [B, N] bool, true = padded

  int64_t tokens() const { return x.size(0) * x.size(1); }
};

/// Rows of the tokens that are not padded. values: [B, N, ...] -> [T, ...]
at::Tensor real_rows(const LayerSample& sample, const at::Tensor& values);

/// Every fifth sequence is held out: what was learnt is judged by those. Sequences of one length are put together as
/// far as memory and speed like it.
class LayerSamples {
 public:
  /// The next sequences, in the order of the calls.
  void add(const LayerSample& sample);

  const std::vector<LayerSample>& fit() const { return fit_; }
  /// All that there are if they are too few to hold any out.
  const std::vector<LayerSample>& held_out() const { return held_out_.empty() ? fit_ : held_out_; }
  bool holds_out() const { return !held_out_.empty(); }
  int64_t sequences() const { return sequences_; }

 private:
  std::vector<LayerSample> fit_, held_out_;
  int64_t sequences_ = 0;
};

}  // namespace primal::train
