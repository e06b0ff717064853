// The page of `primal analyze`: how the layers of some runs mix their tokens, the ranks that they need, and whether
// primal layers hold a kernel SVD.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "analysis/finding.h"
#include "run/analysis_file.h"

namespace primal::report {

/// What was measured of one primal layer, a column for each set of weights.
struct KsvdTable {
  struct Cell {
    std::string text{};                                      ///< "0.98 +- 0.01"
    double mean = std::numeric_limits<double>::quiet_NaN();  ///< NaN: there is none
    double deviation = std::numeric_limits<double>::quiet_NaN();
  };
  struct Row {
    std::string label{};
    std::string wanted{};   ///< what an exact kernel SVD has; may be empty
    bool is_share = false;  ///< always between 0 and 1
    std::vector<Cell> cells{};
  };
  std::string layer{};                 ///< "layer 1"
  std::string about{};                 ///< "s = 4, 12 rows, 8 features"
  std::vector<std::string> columns{};  ///< "trained", "untrained", "random", ...
  std::vector<Row> rows{};             ///< each with a cell per column
  std::vector<std::vector<double>>
      explained{};  ///< of each column: energy of the first pairs of its kernel; may be empty
  std::string verdict{};
  std::string grade{};  ///< "holds", "closer", ...
};

/// Scores of the task with other scores in place of a layer's own.
struct ChangedTable {
  std::string title{};                           ///< "accuracy on Tiny TEST: 93.3 %"
  std::vector<std::string> columns{};            ///< "best pairs", ...
  std::vector<std::vector<std::string>> rows{};  ///< each the name of the layer and its cells
};

struct AnalysisPage {
  struct Run {
    std::string name{};  ///< short
    std::string directory{};
    run::Spectra spectra{};
    std::vector<analysis::Finding> findings{};
    std::vector<KsvdTable> ksvd{};
    ChangedTable changed{};  ///< without rows: not asked for
  };
  std::vector<Run> runs;  ///< at least one
};

/// One HTML file that needs nothing else, offline.
std::string analysis_page(const AnalysisPage& page);

}  // namespace primal::report
