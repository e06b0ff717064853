#include "data/series/csv_header.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/number.h"
#include "base/text.h"

namespace primal::data {
namespace {

/// The first of , ; and tab that stands outside quotes.
char find_delimiter(std::string_view line) {
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == ',' || c == ';' || c == '\t')) return c;
  }
  return ',';
}

CsvColumn column_of(std::string_view name) {
  constexpr std::pair<std::string_view, CsvColumn> kSpecial[] = {{"series", CsvColumn::kSeries},
                                                                 {"time", CsvColumn::kTime},
                                                                 {"label", CsvColumn::kLabel},
                                                                 {"target", CsvColumn::kTarget}};
  const auto found = std::ranges::find(kSpecial, base::lower(name), [](const auto& special) { return special.first; });
  return found == std::end(kSpecial) ? CsvColumn::kChannel : found->second;
}

void add_column(const LineSource& lines, CsvHeader& header, std::string_view name, std::set<std::string>& names) {
  if (name.empty()) lines.fail("column ", header.columns.size() + 1, ": expected a name, got nothing");
  const CsvColumn column = column_of(name);
  if (!names.insert(column == CsvColumn::kChannel ? std::string(name) : base::lower(name)).second) {
    lines.fail("column ", header.columns.size() + 1, ": the name ", base::in_quotes(name), " is there already");
  }
  header.columns.push_back(column);
  if (column == CsvColumn::kChannel) header.channel_names.emplace_back(name);
}

/// The first line that is neither blank nor a comment.
std::string_view first_line(LineSource& lines) {
  for (std::string_view line; lines.next(line);) {
    if (!base::trim(line).empty() && !base::trim(line).starts_with('#')) return line;
  }
  if (lines.line_number() == 0) base::fail(lines.name(), "is empty, expected a .ts or CSV file");
  lines.fail("expected a header such as series,time,x,y,label, got the end of the file");
}

}  // namespace

bool CsvHeader::has(CsvColumn column) const { return std::ranges::find(columns, column) != columns.end(); }

CsvHeader read_csv_header(LineSource& lines) {
  const std::string_view line = first_line(lines);
  CsvHeader header;
  header.delimiter = find_delimiter(line);
  std::set<std::string> names;
  std::string storage;
  const char* const end = line.data() + line.size();
  for (const char* at = line.data();; ++at) {
    const char* stop = end_of_cell(lines, at, end, header.delimiter);
    add_column(lines, header, cell_text({at, stop}, storage), names);
    at = stop;
    if (at == end) break;
  }
  if (!header.has(CsvColumn::kSeries)) {
    lines.fail("expected a header with a column series, such as series,time,x,y,label, got ", base::in_quotes(line));
  }
  for (const std::string& name : header.channel_names) {
    if (!base::is_utf8(name)) lines.fail("expected names of columns in UTF-8, got ", base::in_quotes(name));
  }
  if (header.channel_names.empty()) lines.fail("expected a column of values, got ", base::in_quotes(line));
  if (header.has(CsvColumn::kLabel) && header.has(CsvColumn::kTarget)) {
    lines.fail("expected a column label or a column target, got both");
  }
  return header;
}

const char* end_of_cell(const LineSource& lines, const char* begin, const char* end, char delimiter) {
  const char* first = std::find_if(begin, end, [&](char c) { return c == delimiter || (c != ' ' && c != '\t'); });
  if (first == end || *first != '"') return std::find(begin, end, delimiter);
  const char* at = first + 1;
  for (;; at += 2) {  // two quotes stand for one
    at = std::find(at, end, '"');
    if (at == end) lines.fail("expected a closing quote on the same line, got ", base::in_quotes({first, end}));
    if (at + 1 == end || at[1] != '"') break;
  }
  const char* stop = std::find(at + 1, end, delimiter);
  if (!base::trim({at + 1, stop}).empty()) {
    lines.fail("expected the end of the cell after the closing quote, got ", base::in_quotes({first, stop}));
  }
  return stop;
}

std::string_view cell_text(std::string_view cell, std::string& storage) {
  cell = base::trim(cell);
  if (!cell.starts_with('"')) return cell;
  cell = cell.substr(1, cell.size() - 2);
  if (cell.find('"') == cell.npos) return cell;
  storage.clear();
  for (std::size_t i = 0; i < cell.size(); ++i) {
    storage += cell[i];
    if (cell[i] == '"') ++i;
  }
  return storage;
}

}  // namespace primal::data
