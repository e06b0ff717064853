// The page of `primal ksvd`: a spectrum, and what the first features make of the rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace primal::report {

struct KsvdPage {
  std::string title, kernel, form;
  int64_t rows = 0, columns = 0;
  bool is_sampled = false;  ///< values and shares are estimates
  std::vector<double> values, shares;
  double effective_rank = 0;

  struct Side {
    std::string title;
    std::vector<std::vector<double>> features;  ///< the first ones, of some rows: [feature][row]
  };
  std::vector<Side> sides;
};

/// One HTML file that needs nothing else, offline.
std::string ksvd_page(const KsvdPage& page);

}  // namespace primal::report
