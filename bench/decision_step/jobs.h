// A training step of the Decision Transformer, and what it computes, for a comparison with plain PyTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "decision_step/agent.h"
#include "measure.h"

namespace primal::bench {

/// Forward, loss with its KSVD term, backward, clipping, step of AdamW: as the program trains with the presets
/// offline-rl/*. An example is a window; those of a batch are made while the step before computes, as here.
std::unique_ptr<Job> make_training_step(const DecisionSizes& sizes);

/// Writes a safetensors file: the parameters by their names, "states", "actions", "returns_to_go", "timesteps" and
/// "padding" (int64) of the windows, and of evaluation mode "loss" [1] with its KSVD term, and the gradients as
/// "gradient.NAME".
void save_outcome(const DecisionSizes& sizes, int64_t examples, const std::filesystem::path& path);

}  // namespace primal::bench
