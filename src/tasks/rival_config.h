// The options of the kinds of attention other than primal, the same for every family: attention.*
#pragma once

#include <cstdint>

#include "base/settings.h"
#include "nn/attention/attention.h"

namespace primal::tasks {

/// Named after the kind that reads them.
struct RivalConfig {
  nn::LinearKindOptions linear{};
  nn::LinformerKindOptions linformer{};
  nn::PerformerKindOptions performer{};
  nn::NystromKindOptions nystrom{};
  double flow_clamp = 1;  ///< 0 = none
  nn::WindowKindOptions window{};
  nn::ReformerKindOptions reformer{};
};

/// Makes them known as attention.*
void add_settings(base::Settings& settings, RivalConfig& config);

/// Throws Error that names the key.
void check(const RivalConfig& config);

/// Writes them into the options of a layer.
void apply(const RivalConfig& config, nn::AttentionOptions& options);

}  // namespace primal::tasks
