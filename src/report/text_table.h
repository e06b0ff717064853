// Columns in plain text, for the terminal and for readers of a page without scripts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace primal::report {

/// The first row holds the titles; all rows have as many cells. "*" stands before row `marked`, counted from the
/// titles on; 0: before none. Ends with a line feed.
std::string text_table(const std::vector<std::vector<std::string>>& rows, std::size_t marked = 0);

/// printf of a number; "-" if it is not finite.
std::string number_cell(const char* pattern, double value);

}  // namespace primal::report
