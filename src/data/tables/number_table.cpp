#include "data/tables/number_table.h"

#include <algorithm>
#include <string_view>

#include "base/number.h"
#include "base/text.h"
#include "data/series/csv_header.h"

namespace primal::data {
namespace {

class NumberTableReader {
 public:
  explicit NumberTableReader(LineSource lines) : lines_(std::move(lines)) {}

  NumberTable read() {
    std::string_view line;
    if (!first_line(line)) base::fail(lines_.name(), "is empty, expected a table of numbers");
    find_columns(line);
    if (is_header(line)) {
      read_header(line);
      line = {};
    }
    do {
      if (!base::trim(line).empty()) read_row(line);
    } while (lines_.next(line));
    if (table_.rows == 0) lines_.fail("expected at least one row after the header, got the end of the file");
    return std::move(table_);
  }

 private:
  bool first_line(std::string_view& line) {
    while (lines_.next(line)) {
      const std::string_view text = base::trim(line);
      if (!text.empty() && !text.starts_with('#')) return true;
    }
    return false;
  }

  /// visit(cell) for each cell of a line, with the quotes and spaces around it.
  template <typename Visit>
  void for_cells(std::string_view line, const Visit& visit) {
    const char* const end = line.data() + line.size();
    for (const char* at = line.data();; ++at) {
      const char* stop = end_of_cell(lines_, at, end, delimiter_);
      visit(std::string_view(at, stop));
      if (stop == end) return;
      at = stop;
    }
  }

  void find_columns(std::string_view line) {
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (quoted || (c != ',' && c != ';' && c != '\t')) continue;
      delimiter_ = c;
      break;
    }
    for_cells(line, [&](std::string_view) { ++table_.columns; });
    first_line_ = lines_.line_number();
  }

  bool is_header(std::string_view line) {
    bool has_number = false, has_name = false;
    for_cells(line, [&](std::string_view cell) {
      double value = 0;
      const base::Reading reading = base::read_number(cell_text(cell, storage_), value);
      if (reading != base::Reading::kEmpty) (reading == base::Reading::kOther ? has_name : has_number) = true;
    });
    return has_name && !has_number;
  }

  void read_header(std::string_view line) {
    for_cells(line, [&](std::string_view cell) {
      const std::string_view name = cell_text(cell, storage_);
      if (name.empty()) lines_.fail("column ", table_.names.size() + 1, ": expected a name, got nothing");
      if (!base::is_utf8(name)) lines_.fail("expected names of columns in UTF-8, got ", base::in_quotes(name));
      table_.names.emplace_back(name);
    });
  }

  void read_row(std::string_view line) {
    int64_t column = 0;
    const char* const end = line.data() + line.size();
    for (const char* at = line.data();; ++at) {
      if (column == table_.columns) fail_length(line);
      at = read_cell(at, end, ++column, line);
      if (at == end) break;
    }
    if (column != table_.columns) fail_length(line);
    ++table_.rows;
  }

  /// Gives the end of the cell.
  const char* read_cell(const char* at, const char* end, int64_t column, std::string_view line) {
    double value = 0;
    base::ShortDecimal decimal;
    const char* stop = base::short_decimal(at, end, decimal);
    if (stop != nullptr) {
      value = decimal.value<double>();
    } else {
      stop = base::plain_number(at, end, value);
    }
    if (stop == nullptr || (stop != end && *stop != delimiter_)) {
      stop = end_of_cell(lines_, at, end, delimiter_);
      value = odd_value(cell_text({at, stop}, storage_), column, line);
    }
    table_.values.push_back(value);
    return stop;
  }

  /// A value in quotes or with spaces, or a mistake.
  double odd_value(std::string_view cell, int64_t column, std::string_view line) {
    double value = 0;
    const base::Reading reading = base::read_number(cell, value);
    if (reading == base::Reading::kNumber) return value;
    if (cells_of(line) != table_.columns) fail_length(line);  // then a wrong cell is a consequence
    lines_.fail("column ", column, name_of(column), ": expected ", base::describe<double>(reading, cell));
  }

  std::string name_of(int64_t column) const {
    if (table_.names.empty()) return "";
    return " (" + base::in_quotes(table_.names[static_cast<std::size_t>(column - 1)]) + ")";
  }

  int64_t cells_of(std::string_view line) {
    int64_t cells = 0;
    for_cells(line, [&](std::string_view) { ++cells; });
    return cells;
  }

  [[noreturn]] void fail_length(std::string_view line) {
    lines_.fail("expected ", table_.columns, " cells as in line ", first_line_, ", got ", cells_of(line));
  }

  LineSource lines_;
  NumberTable table_;
  char delimiter_ = ',';
  int64_t first_line_ = 0;
  std::string storage_;
};

}  // namespace

NumberTable read_number_table(LineSource lines) { return NumberTableReader(std::move(lines)).read(); }

}  // namespace primal::data
