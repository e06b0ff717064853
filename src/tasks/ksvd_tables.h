// `primal ksvd`: kernel SVD of tables of numbers in files, and features of their rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "analysis/kernel_svd.h"
#include "tasks/ksvd_facts.h"

namespace primal::tasks {

struct KsvdRequest {
  std::string rows{}, columns{};  ///< tables; without columns the rows with themselves
  std::string matrix{};           ///< kernel values instead of tables
  analysis::KernelSvdOptions options{};
  std::string output{};         ///< folder; empty: nothing is written
  bool as_safetensors = false;  ///< features; else CSV
  int64_t threads = 0;
};

/// Reads, decomposes, and writes the features of both sides, the singular values, the model for new rows and a page.
KsvdResult decompose_tables(const KsvdRequest& request);

struct KsvdNewRows {
  std::string model{};            ///< file, or folder of decompose_tables
  std::string rows{}, columns{};  ///< one of them: of the first table, or of the second one
  std::string output{};           ///< .safetensors or CSV; empty: CSV to `taker`
  int64_t threads = 0;
};

/// Features of rows that the decomposition has not seen.
void features_of_new_rows(const KsvdNewRows& request, const std::function<void(std::string_view)>& taker);

}  // namespace primal::tasks
