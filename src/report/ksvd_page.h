// The page of `primal ksvd`: a spectrum, and what the first two features make of the rows.
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

  struct Points {
    std::string title;
    std::vector<double> x, y;
  };
  std::vector<Points> points;
};

/// One HTML file that needs nothing else, offline.
std::string ksvd_page(const KsvdPage& page);

}  // namespace primal::report
