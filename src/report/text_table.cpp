#include "report/text_table.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace primal::report {

std::string text_table(const std::vector<std::vector<std::string>>& rows, std::size_t marked) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    table += r > 0 && r == marked ? "* " : "  ";
    for (std::size_t i = 0; i + 1 < rows[r].size(); ++i) {
      table.append(widths[i] - rows[r][i].size(), ' ').append(rows[r][i]).append("  ");
    }
    table.append(rows[r].back()).append("\n");
  }
  return table;
}

std::string number_cell(const char* pattern, double value) {
  return std::isfinite(value) ? base::printed(pattern, value) : "-";
}

}  // namespace primal::report
