// Checkpoints: RUN/checkpoints/step-N/{model.safetensors, optimizer.safetensors, state.json}, all or nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "models/module_tensors.h"

namespace primal::train {

using models::Tensors;

struct Checkpoint {
  Tensors model;
  Tensors optimizer;  ///< moments, step counts, state of the random generator
  std::string state;  ///< JSON object of the trainer
};

/// Writes folder/NAME: a temporary folder beside it is filled, synced and renamed, so that `kill -9` at any instant
/// leaves either the old or the new one complete. state.json gets the checksums of all.
void save_checkpoint(const std::filesystem::path& folder, const std::string& name, const Checkpoint& checkpoint);

/// Throws Error, which names the file, for anything missing or damaged: what has checksums is held against them.
Checkpoint load_checkpoint(const std::filesystem::path& path);

/// step-N with the largest N, or nothing. Leftovers of an interrupted save are removed.
std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& folder);

/// Removes all but the newest.
void remove_old_checkpoints(const std::filesystem::path& folder, int64_t kept);

}  // namespace primal::train
