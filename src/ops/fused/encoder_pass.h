// The steps of a fused encoder layer that its forward and its backward pass share.
#pragma once

#include "ops/fused/attention_pass.h"
#include "ops/fused/encoder_layer_arguments.h"
#include "ops/fused/tile_space.h"

namespace primal::ops::fused {

/// The intermediates of some tokens that the backward pass needs. All but the first only have rows for tokens that are
/// read.
struct KeptTokens {
  float* projected;     // [2D]: q and k; where they fade, of each token alone
  float* after_first;   // [D]: input + attention, before norm1 (post-norm) or norm2 (pre-norm)
  float* inner;         // [F]: the feed-forward part before its activation
  float* after_second;  // [D]: post-norm only, before norm2

  /// token, row: how many before it have been passed.
  KeptTokens from(int64_t token, int64_t row, const EncoderLayerArguments& a) const;
};

/// Where they lie in one piece of memory for `tokens` tokens.
KeptTokens kept_tokens(const EncoderLayerArguments& a, float* memory, int64_t tokens);

class EncoderPass {
 public:
  /// Without `forward`, forward() cannot be called: a backward pass that was given what was kept saves the packing.
  EncoderPass(const EncoderLayerArguments& arguments, bool forward);

  /// As they were given, but that `attended` are the running means if such are taken.
  const EncoderLayerArguments& arguments() const { return a_; }
  const AttentionPass& attention() const { return attention_; }
  const ReadTokens& read() const { return attention_.read(); }
  const SampledRows& sampled() const { return sampled_; }
  const at::Tensor& rows() const { return rows_; }
  int64_t inner_width() const { return a_.linear1_weight.size(0); }
  int64_t tile() const { return attention_.tile(); }

  /// A tile of the input [T, D] with zeros at tokens that are left out, whatever stands in them; x itself where none
  /// is.
  const float* cleared(const float* x, Range tile, TileSpace& space) const;

  /// What the attention sees of a tile: x, its norm (made in `normed` [T, D]), or else what was given or the running
  /// means, which are not cleared.
  const float* attended(const float* x, Range tile, float* normed) const;

  /// x: [T, D], cleared -> q and k, [T, 2D], before they fade.
  void project(const float* x, Range tile, float* projected) const;

  /// x: [T, D], cleared; kept.projected: q and k as the scores want them -> the rest of kept, le and lr (one per
  /// token), out [T, D], 0 at tokens that are not read (null: what comes after `kept` is left out).
  void forward(const float* x, Range tile, const KeptTokens& kept, float* le, float* lr, float* out) const;

  void norm(const LayerNormWeights& weights, const float* x, int64_t rows, float* out) const;
  /// which: 0 after the attention, 1 inside, 2 after the feed-forward part. x: rows of tokens that are read, in place.
  void drop(int which, Range tile, int64_t width, float* x) const;

 private:
  EncoderLayerArguments a_;
  SampledRows sampled_;
  at::Tensor rows_;  // f(X): sampled rows of what the attention sees
  AttentionPass attention_;
  PackedMatrix linear1_, linear2_;
};

}  // namespace primal::ops::fused
