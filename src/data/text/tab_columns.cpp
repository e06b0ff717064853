#include "data/text/tab_columns.h"

#include <algorithm>
#include <cstddef>

#include "base/number.h"
#include "base/text.h"

namespace primal::data {

void split_at_tabs(const LineSource& lines, std::string_view line, std::span<std::string_view> columns,
                   std::string_view names) {
  const auto found = static_cast<std::size_t>(std::ranges::count(line, '\t')) + 1;
  if (found != columns.size()) {
    lines.fail("expected ", columns.size(), " columns with tabs between them (", names, "), got ", found);
  }
  for (std::string_view& column : columns) {
    column = line.substr(0, line.find('\t'));
    line.remove_prefix(std::min(column.size() + 1, line.size()));
  }
}

int64_t read_label_of_two(const LineSource& lines, std::string_view field, std::span<const std::string> classes) {
  if (const auto name = std::ranges::find(classes, field); name != classes.end()) return name - classes.begin();
  double value = 0;
  if (base::read_number(field, value) == base::Reading::kNumber && (value == 0 || value == 1)) return value == 1;
  lines.fail("column 1: expected a label of 0, 1, ", classes[0], " or ", classes[1], ", got ", base::in_quotes(field));
}

std::span<const uint8_t> read_text(const LineSource& lines, std::string_view field, int64_t column,
                                   int64_t most_bytes) {
  if (field.empty()) lines.fail("column ", column, ": expected a text, got nothing");
  return cut_text(field, most_bytes);
}

std::span<const uint8_t> cut_text(std::string_view text, int64_t most_bytes) {
  const std::string_view kept = text.substr(0, static_cast<std::size_t>(most_bytes));
  return {reinterpret_cast<const uint8_t*>(kept.data()), kept.size()};
}

void check_most_bytes(std::string_view file_name, int64_t most_bytes) {
  if (most_bytes < 1) base::fail(file_name, "expected to keep at least 1 byte of a text, got ", most_bytes);
}

}  // namespace primal::data
