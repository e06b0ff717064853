// A primal layer learns what another attention does. Queries and keys are its own, as they are or with a constant
// added; We and Wr are pairs of the kernel SVD, or what an SVD of the outputs finds among many such pairs; the rest is
// least squares. The best of these closed forms then learns by some hundred steps of gradient descent.
//
//   const DistilFacts facts = distil(primal, *softmax.module(), samples, {});
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>

#include "primal/attention.h"
#include "train/distil/layer_samples.h"

namespace primal::train {

struct DistilOptions {
  int64_t steps = 400;  ///< of gradient descent, each on some thousand tokens; 0 = none
  double lr = 1e-3;     ///< of Adam; it rises first and falls along a cosine
  uint64_t seed = 1;    ///< of the order of the samples
  /// Steps done and the share explained then, a few times in all.
  std::function<void(int64_t, double)> tell{};
};

/// Shares of the variance of the outputs, over sequences that were held out, by which the best ridge, constant and step
/// were chosen, too (of all if there were too few).
struct DistilFacts {
  double random = 0;       ///< fresh We and Wr, the rest by least squares
  double closed_form = 0;  ///< We and Wr from an SVD, the rest by least squares
  double distilled = 0;    ///< after gradient descent; the closed form itself if that is better
  int64_t sequences = 0;   ///< with those held out
  int64_t tokens = 0;      ///< that were learnt from
  bool held_out = false;
};

/// Changes every parameter of the layer, whose options stay as they are; `teacher` is the module of an attention of the
/// same width: its q_proj and k_proj are taken over as far as it has them, but for the constant. y of the samples is
/// what to learn.
DistilFacts distil(PrimalAttentionImpl& layer, const torch::nn::Module& teacher, const LayerSamples& samples,
                   const DistilOptions& options);

}  // namespace primal::train
