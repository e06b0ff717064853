// The options of an encoder, the same for every family that has one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.h"
#include "nn/encoder.h"
#include "tasks/rival_config.h"

namespace primal::tasks {

struct EncoderConfig {
  std::vector<std::string> layers = {"primal", "primal"};  ///< kinds of attention (nn/attention/kinds.h)
  int64_t width = 512, heads = 8, feed_forward = 2048;
  std::vector<int64_t> rank = {30};  ///< of all layers, or one for each
  int64_t rows = 0;                  ///< 0 = rows_per_rank rank; never more than the longest sequence
  int64_t rows_per_rank = 10;
  std::string feature_map = "cosine";
  bool data_dependent = true;  ///< causal layers are not, whatever this says
  Projections projections = Projections::both;
  LambdaForm lambda = LambdaForm::squared;
  double dropout = 0.1;
  bool norm_first = false;
  Padding padding = Padding::respect;
  nn::Masking masking = nn::Masking::right;  ///< of all kinds but primal
  Init init = Init::reference;
  LayerMemory memory = LayerMemory::none;  ///< decay: fading averages of the tokens before each attention
  int64_t memory_scales = 4;  ///< time scales of a channel, log-spaced from one token to the longest sequence
  int64_t convolution = 0;    ///< tokens of a short convolution before each attention; 0 = none
  RivalConfig rivals{};
};

/// Makes them known as model.*
void add_settings(base::Settings& settings, EncoderConfig& config);

/// Throws Error that names the key.
void check(const EncoderConfig& config);

/// s of a layer.
int64_t rank_of(const EncoderConfig& config, size_t layer);

/// tokens: the longest sequence.
std::vector<nn::EncoderLayerOptions> layer_options(const EncoderConfig& config, int64_t tokens);

/// "PrimalFormer", "Primal.+", "Transformer", the name of the one kind, or "mixed", by the layers.
std::string model_name(const EncoderConfig& config);

}  // namespace primal::tasks
