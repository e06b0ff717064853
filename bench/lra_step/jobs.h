// What is measured of a kind of attention: a training step of the Long Range Arena model, or one encoder layer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measure.h"

namespace primal::bench {

struct JobOptions {
  std::vector<std::string> layers{};  ///< kinds of attention
  int64_t tokens = 0;                 ///< of each sequence, none of them padded
  int64_t rank = 20;                  ///< of primal layers
  int64_t accumulate = 1;             ///< batches of a step
  bool pairs = false;                 ///< an example is two sequences
};

/// Forward, loss with its KSVD term, backward, step of AdamW: as the program trains with the presets lra/*, but without
/// dropout of the attention weights, for which LibTorch draws number by number on one core.
std::unique_ptr<Job> make_training_step(const JobOptions& options);

/// Forward and backward of the encoder layer of the first kind, with the KSVD term and the gradient of its input.
std::unique_ptr<Job> make_encoder_layer(const JobOptions& options);

}  // namespace primal::bench
