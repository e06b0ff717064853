// `primal analyze --ksvd`: whether the primal layers of a trained run hold a kernel SVD of what they see.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ksvd_layer.h"
#include "analysis/ksvd_verdict.h"
#include "report/analysis_page.h"
#include "tasks/ksvd_scores.h"

namespace primal::tasks {

class Task;
struct DataChoice;

struct KsvdAnalysisRequest {
  std::filesystem::path twin;  ///< a run with loss.eta = 0, or the folder of its seeds; empty: none
  int64_t draws = 100;         ///< of random weights
  bool intervene = false;      ///< also the task's own score with other scores in the layers
};

/// Of each primal layer, in the order of the layers. `untrained`, and `twin` if there is one, have as many.
struct KsvdAnalysis {
  std::vector<analysis::KsvdLayer> trained, untrained, twin;
  std::vector<analysis::KsvdVerdict> verdicts;
  std::filesystem::path twin_run;  ///< of this run; empty: none
  std::optional<ChangedScores> changed{};
};

struct KsvdSource {
  std::filesystem::path run;
  std::string data;  ///< as --data
  int64_t threads = 0;
};

/// Throws Error for a twin that was trained with the KSVD term, or has other layers.
KsvdAnalysis analyze_ksvd(Task& trained, const DataChoice& choice, const KsvdSource& source,
                          const KsvdAnalysisRequest& request);

/// A table per layer, each with its verdict: for the page, and below as text.
std::vector<report::KsvdTable> ksvd_tables(const KsvdAnalysis& analysis);
std::string to_text(const KsvdAnalysis& analysis);
/// {"layers": [{"name", "verdict", "grade", "trained": {...}, "untrained", "random", "twin"?, "kernel"}]}
nlohmann::json to_json(const KsvdAnalysis& analysis);

}  // namespace primal::tasks
