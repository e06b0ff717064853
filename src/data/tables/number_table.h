// Tables of numbers in text: CSV with or without a header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/series/line_source.h"

namespace primal::data {

struct NumberTable {
  std::vector<std::string> names;  ///< of the columns; empty without a header
  int64_t rows = 0, columns = 0;
  std::vector<double> values;  ///< row by row
};

/// Columns are parted by the first of , ; and tab in the first line that is neither blank nor a comment (# ...). That
/// line is a header if none of its cells is a number. Blank lines are passed over. Throws Error, "<name>:<line>: ...",
/// for a cell that is no finite number, a row of another length, and a file without rows.
NumberTable read_number_table(LineSource lines);

}  // namespace primal::data
