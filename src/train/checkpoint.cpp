#include "train/checkpoint.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/atomic_file.h"
#include "base/crc32c.h"
#include "base/json_file.h"
#include "base/mapped_file.h"
#include "base/write_failure.h"
#include "primal/error.h"
#include "primal/safetensors.h"

namespace primal::train {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnfinished = ".tmp";
constexpr const char *kModel = "model.safetensors", *kOptimizer = "optimizer.safetensors", *kState = "state.json";
constexpr const char* kChecksums = "checksums";

// A rename is on disk only when the folder is.
void sync_folder(const fs::path& folder) {
  const base::FileDescriptor file(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.is_open() || fsync(file.get()) != 0) base::fail_writing(folder, "sync it");
}

std::optional<int64_t> step_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + kPrefix.size(), end, step);
  return result.ec == std::errc() && result.ptr == end ? std::optional(step) : std::nullopt;
}

// Newest first.
std::vector<fs::path> checkpoints_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (entry.is_directory() && step_of(entry.path())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return *step_of(a) > *step_of(b); });
  return found;
}

void remove_unfinished(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().ends_with(kUnfinished)) leftovers.push_back(entry.path());
  }
  for (const fs::path& path : leftovers) fs::remove_all(path, ignored);
}

// Renamed first: a removal cut short must not look like a checkpoint.
void remove_whole(const fs::path& path) {
  const fs::path away = path.string() + std::string(kUnfinished);
  std::error_code ignored;
  fs::remove_all(away, ignored);
  fs::rename(path, away, ignored);
  fs::remove_all(away, ignored);
}

// An old folder of that name is exchanged in one step, so that there always is a complete one.
void move_into_place(const fs::path& unfinished, const fs::path& target) {
  if (!fs::exists(target)) return fs::rename(unfinished, target);
  if (renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(unfinished);
  } else {  // a file system that cannot exchange
    remove_whole(target);
    fs::rename(unfinished, target);
  }
}

std::string text_of(const fs::path& path) {
  const auto text = base::read_text_if_any(path);
  if (!text) throw Error(path.string() + ": is missing");
  return *text;
}

std::string checksum_of_file(const fs::path& path) {
  return base::crc32c_text(base::MappedFile(path, "tensors").text());
}

// state.json: the state and, under kChecksums, those of the files beside it and its own, made without them.
std::string with_checksums(const std::string& state, const fs::path& folder) {
  Json json = Json::parse(state);
  Json checksums = {{kState, base::crc32c_text(json.dump())}};
  for (const char* name : {kModel, kOptimizer}) {
    if (fs::exists(folder / name)) checksums[name] = checksum_of_file(folder / name);
  }
  json[kChecksums] = checksums;
  return json.dump(2) + "\n";
}

void check_sum(const Json& checksums, const char* name, const fs::path& file, const std::string& found) {
  if (!checksums.contains(name) || checksums[name] == found) return;
  throw Error(file.string() + ": is damaged: its checksum is " + found + ", expected " + checksums[name].dump());
}

// Checkpoints of older versions have none.
void check_sums(const fs::path& path, const std::string& state) {
  Json json = Json::parse(state, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw Error((path / kState).string() + ": is damaged: expected a JSON object");
  if (!json.contains(kChecksums)) return;
  const Json checksums = json[kChecksums];
  json.erase(kChecksums);
  check_sum(checksums, kState, path / kState, base::crc32c_text(json.dump()));
  for (const char* name : {kModel, kOptimizer}) {
    if (!checksums.contains(name)) continue;
    if (!fs::exists(path / name)) throw Error((path / name).string() + ": is missing");
    check_sum(checksums, name, path / name, checksum_of_file(path / name));
  }
}

}  // namespace

void save_checkpoint(const fs::path& folder, const std::string& name, const Checkpoint& checkpoint) {
  const fs::path target = folder / name, unfinished = folder / (name + std::string(kUnfinished));
  fs::create_directories(folder);
  fs::remove_all(unfinished);
  fs::create_directory(unfinished);
  save_safetensors(unfinished / kModel, checkpoint.model, {{"format", "pt"}});
  if (!checkpoint.optimizer.empty()) save_safetensors(unfinished / kOptimizer, checkpoint.optimizer);
  base::write_file_atomically(unfinished / kState, with_checksums(checkpoint.state, unfinished));
  sync_folder(unfinished);
  move_into_place(unfinished, target);
  sync_folder(folder);
}

Checkpoint load_checkpoint(const fs::path& path) {
  Checkpoint checkpoint;
  checkpoint.state = text_of(path / kState);
  check_sums(path, checkpoint.state);
  checkpoint.model = load_safetensors(path / kModel).tensors;
  if (fs::exists(path / kOptimizer)) checkpoint.optimizer = load_safetensors(path / kOptimizer).tensors;
  return checkpoint;
}

std::optional<fs::path> latest_checkpoint(const fs::path& folder) {
  remove_unfinished(folder);
  const std::vector<fs::path> found = checkpoints_in(folder);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

void remove_old_checkpoints(const fs::path& folder, int64_t kept) {
  const std::vector<fs::path> found = checkpoints_in(folder);
  for (size_t i = static_cast<size_t>(kept); i < found.size(); ++i) remove_whole(found[i]);
}

Tensors tensors_of(const torch::nn::Module& module) {
  Tensors tensors;
  for (const auto& parameter : module.named_parameters()) tensors[parameter.key()] = parameter.value().detach();
  for (const auto& buffer : module.named_buffers()) tensors[buffer.key()] = buffer.value();
  return tensors;
}

torch::Tensor tensor_like(const Tensors& tensors, const std::string& name, const torch::Tensor& like,
                          const std::string& file) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw Error(file + ": tensor " + name + " is missing");
  const torch::Tensor& tensor = found->second;
  if (tensor.sizes() != like.sizes() || tensor.scalar_type() != like.scalar_type()) {
    throw Error(c10::str(file, ": tensor ", name, " is ", tensor.scalar_type(), " ", tensor.sizes(),
                         ", the model needs ", like.scalar_type(), " ", like.sizes()));
  }
  return tensor;
}

void load_tensors(torch::nn::Module& module, const Tensors& tensors, const std::string& file) {
  const Tensors own = tensors_of(module);
  for (const auto& [name, tensor] : tensors) {
    if (!own.contains(name)) throw Error(file + ": tensor " + name + " is not part of this model");
  }
  for (const auto& [name, tensor] : own) tensor_like(tensors, name, tensor, file);
  torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : own) tensor.copy_(tensors.at(name));
}

}  // namespace primal::train
