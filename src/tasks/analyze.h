// `primal analyze`: spectra and findings of trained runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/finding.h"
#include "run/analysis_file.h"
#include "tasks/analyze_ksvd.h"

namespace primal::tasks {

struct AnalyzeRequest {
  std::vector<std::filesystem::path> runs;  ///< a folder of several seeds stands for all of them
  std::string part = "train";               ///< of the run's own data: train, validation, test
  std::string file;                         ///< instead of a part
  int64_t examples = 0;                     ///< 0: as a run itself does, 32, or fewer of long ones
  std::string data;                         ///< --data
  int64_t threads = 0;
  /// Samples of a layer whose matrices are looked at, of the examples; nothing: 8, fewer of long ones.
  std::optional<int64_t> matrices{};
  int64_t longest = 2048;                     ///< attention matrices of more tokens are not made
  std::optional<KsvdAnalysisRequest> ksvd{};  ///< nothing: not asked for
};

struct Analysis {
  std::filesystem::path run;
  run::Spectra spectra;
  std::vector<analysis::Finding> findings;
  std::optional<KsvdAnalysis> ksvd{};
};

/// What the layers of each run make of the chosen data, and what is known to go wrong in such runs. Nothing is
/// written.
std::vector<Analysis> analyze(const AnalyzeRequest& request);

/// Tables: rank, effective ranks, Lambda and the first singular values of each layer, its matrix and the rank that it
/// needs, then the findings.
std::string to_text(const Analysis& analysis);
nlohmann::json to_json(const Analysis& analysis);

/// One HTML file that opens offline: all of it in pictures. analyses: at least one
void write_page(const std::vector<Analysis>& analyses, const std::filesystem::path& output);

}  // namespace primal::tasks
