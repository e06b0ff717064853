// The files that `primal ksvd` writes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analysis/kernel_svd_model.h"
#include "data/tables/feature_writer.h"
#include "tasks/ksvd_facts.h"

namespace primal::tasks {

/// The first features, three at most, of some rows, evenly chosen: [feature][row].
using FeaturePoints = std::vector<std::vector<double>>;

/// Writes the features of a table as they are computed. Gives points for pictures.
FeaturePoints write_features(const analysis::FeatureMaker& maker, const at::Tensor& table,
                             data::FeatureWriterOptions options, const data::FeatureWriter::Taker& taker);

/// The same into a file, which appears complete or not at all; its ending says whether it is safetensors or CSV.
FeaturePoints write_feature_file(const std::filesystem::path& path, const analysis::FeatureMaker& maker,
                                 const at::Tensor& table, data::FeatureWriterOptions options);

/// Throws Error if `target` is one of the files that were read.
void check_target(const std::filesystem::path& target, const std::vector<std::string>& inputs);

inline constexpr const char* kKsvdModelFile = "model.safetensors";

struct KsvdOutput {
  std::filesystem::path folder;
  bool as_safetensors = false;  ///< features; else CSV
  bool in_double = false;       ///< features of float32 tables
  int64_t threads = 1;
  std::vector<std::string> inputs;  ///< files that were read
};

/// Features of both sides, singular values, the model for new rows, and a page; adds what and where to `result`.
/// columns: of a matrix its transpose, undefined for one table.
void write_ksvd(KsvdResult& result, const at::Tensor& rows, const at::Tensor& columns, const KsvdOutput& output);

}  // namespace primal::tasks
