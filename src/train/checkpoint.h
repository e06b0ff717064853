// Checkpoints: RUN/checkpoints/step-N/{model.safetensors, optimizer.safetensors, state.json}, all or nothing.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace primal::train {

using Tensors = std::map<std::string, torch::Tensor>;

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

/// Parameters and buffers by name.
Tensors tensors_of(const torch::nn::Module& module);
/// The tensor NAME, which must be there, in the shape and dtype of `like`. Throws Error that `file` begins.
torch::Tensor tensor_like(const Tensors& tensors, const std::string& name, const torch::Tensor& like,
                          const std::string& file);
/// Copies values into the module. Names, shapes and dtypes must be those of the module; `file` begins the message.
void load_tensors(torch::nn::Module& module, const Tensors& tensors, const std::string& file);

}  // namespace primal::train
