// What a kernel SVD of tables says, as table, as JSON and as lines of a file.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analysis/kernel_svd_model.h"

namespace primal::tasks {

struct KsvdResult {
  analysis::KernelSvd svd;
  std::string tables;                                                ///< "a.csv and b.csv"
  std::vector<std::pair<std::string, std::filesystem::path>> files;  ///< what was written, and where
  double reading = 0, solving = 0, writing = 0;                      ///< seconds
};

std::string to_text(const KsvdResult& result);
nlohmann::json to_json(const KsvdResult& result);
/// number, singular_value, scaled, share, together
std::string to_csv(const analysis::KernelSvd& svd);

/// "rbf kernel, width 3.46"
std::string kernel_text(const analysis::Kernel& kernel);
/// "primal form with 64 features", "Nystrom from 18 rows and 30 columns"
std::string form_text(const analysis::KernelSvd& svd);
/// Of the energy |K|^2, one for each singular value.
std::vector<double> shares_of(const analysis::KernelSvd& svd);
std::vector<double> numbers_in(const at::Tensor& values);

}  // namespace primal::tasks
