// The first line of a CSV file, and cells in quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/series/line_source.h"

namespace primal::data {

enum class CsvColumn { kSeries, kTime, kChannel, kLabel, kTarget };

struct CsvHeader {
  char delimiter = ',';
  std::vector<CsvColumn> columns;
  std::vector<std::string> channel_names;
  bool has(CsvColumn column) const;
};

CsvHeader read_csv_header(LineSource& lines);

/// The end of the cell that begins at `begin`: its delimiter or the end of the line. Delimiters in quotes do not count.
const char* end_of_cell(const LineSource& lines, const char* begin, const char* end, char delimiter);

/// The text of a cell without the spaces and quotes around it. It is `storage` if quotes inside had to be undone.
std::string_view cell_text(std::string_view cell, std::string& storage);

}  // namespace primal::data
