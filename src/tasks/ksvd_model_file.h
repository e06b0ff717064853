// The file in which a kernel SVD is kept for new rows.
#pragma once

#include <filesystem>

#include "analysis/kernel_svd_model.h"

namespace primal::tasks {

/// A safetensors file: what analysis::KernelSvd has, tensors by their names there, the rest as JSON in the metadata.
void save_ksvd(const analysis::KernelSvd& svd, const std::filesystem::path& path);

/// Throws Error, "<path>: ...", for another file or one that does not fit together.
analysis::KernelSvd load_ksvd(const std::filesystem::path& path);

}  // namespace primal::tasks
