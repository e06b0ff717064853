// A golden file (docs/golden-files.md) with its name, so that every complaint can begin with it.
#pragma once

#include <ATen/core/Tensor.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "primal/attention.h"
#include "primal/safetensors.h"

namespace primal::tasks {

using Tensors = std::map<std::string, at::Tensor>;

struct GoldenFile {
  std::filesystem::path path;
  SafetensorsFile content;

  [[noreturn]] void fail(const std::string& message) const;

  bool has(const std::string& metadata_key) const { return content.metadata.contains(metadata_key); }
  const std::string& text(const std::string& metadata_key) const;
  template <typename Number>
  Number number(const std::string& metadata_key) const;

  const at::Tensor& tensor(const std::string& name) const;
  /// The tensors whose names begin with the prefix, under the rest of the name.
  Tensors with_prefix(const std::string& prefix) const;
  /// "grad.<our name>" of every parameter, and "grad.x" if there is one. kind: naming scheme of the parameters.
  Tensors gradients(const std::string& kind) const;
  /// Those of them that are zero in exact arithmetic, so that the file holds nothing but rounding: the key biases of
  /// softmax layers, and what the file names.
  std::set<std::string> zero_gradients(const std::string& kind) const;

  /// Copies published parameters into a module. prefix: of their names in the file.
  void load_parameters(torch::nn::Module& module, const std::string& prefix, const std::string& kind) const;
};

/// The gradients that a backward pass left, under the same names as GoldenFile::gradients; 0 where it left none. x may
/// be undefined.
Tensors gradients_of(const torch::nn::Module& module, const at::Tensor& x);

template <typename Number>
Number GoldenFile::number(const std::string& metadata_key) const {
  const std::string& value = text(metadata_key);
  Number result{};
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || stop != value.data() + value.size()) {
    fail("metadata \"" + metadata_key + "\" is not a number: \"" + value + "\"");
  }
  return result;
}

}  // namespace primal::tasks
