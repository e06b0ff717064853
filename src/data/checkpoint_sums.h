// The checksums of a checkpoint: state.json has those of the files beside it, and its own, made without them.
#pragma once

#include <filesystem>
#include <string>

namespace primal::data {

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";

/// state: a JSON object -> the text of state.json, for a folder that has the other files already.
std::string with_checksums(const std::string& state, const std::filesystem::path& folder);

/// The text of state.json, once it and the files beside it have been held against the checksums. Throws Error, which
/// names the file, for what is missing or damaged; checkpoints of older versions have no checksums.
std::string checked_state(const std::filesystem::path& folder);

}  // namespace primal::data
