// Tensors and text in a safetensors file, the format of every checkpoint: safe to read, and understood by Python.
//
//   primal::save_safetensors("model.safetensors", {{"weight", torch::randn({512, 64})}}, {{"format", "pt"}});
//   primal::SafetensorsFile file = primal::load_safetensors("model.safetensors");
//   torch::Tensor weight = file.tensors.at("weight");    // [512, 64], float32
//   std::string format = file.metadata.at("format");     // "pt"
//   weight.mul_(2);                                      // changes the tensor, never the file
//
// Tensors have any shape of up to 64 dimensions, 0-dim and empty ones included, and these dtypes:
//   BOOL  U8 I8 I16 U16 I32 U32 I64 U64  F16 BF16 F32 F64  F8_E4M3 (float8_e4m3fn)  F8_E5M2  C64 (complex64)
#pragma once

#include <primal/export.h>
#include <torch/types.h>

#include <filesystem>
#include <map>
#include <string>

namespace primal {

struct SafetensorsFile {
  std::map<std::string, torch::Tensor> tensors;  ///< by name; contiguous, on the CPU
  std::map<std::string, std::string> metadata;   ///< free text of the writer; empty if the file has none
};

/// Reads a file. The tensors are views of the mapped file (pages are read when they are touched, and copied when they
/// are written to); the mapping lives as long as any of them. Only data that are not aligned for their dtype are
/// copied. Throws primal::Error, which begins with the path, for anything the format forbids; nothing is half-loaded.
/// A mapped file must not be shortened in place by another process; replacing it, as save_safetensors does, is
/// harmless.
PRIMAL_API SafetensorsFile load_safetensors(const std::filesystem::path& path);

/// Writes a file, all or nothing: a temporary file beside `path` is written, synced to disk and renamed onto it, so
/// that an existing file survives every failure. Tensors are dense and on the CPU; strided views are written as they
/// read. Names and metadata are UTF-8; no tensor may be called "__metadata__". Throws primal::Error.
PRIMAL_API void save_safetensors(const std::filesystem::path& path, const std::map<std::string, torch::Tensor>& tensors,
                                 const std::map<std::string, std::string>& metadata = {});

}  // namespace primal
