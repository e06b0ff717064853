// CSV files in long form: one row per step, the rows of a series together.
#include <cmath>
#include <limits>
#include <map>

#include "base/number.h"
#include "base/text.h"
#include "data/series/csv_header.h"
#include "data/series/series_reader.h"

namespace primal::data {
namespace {

/// The difference of any two times must be finite.
constexpr double kLargestTime = 1e300;

void clear(Series& into) {
  into.id.clear();
  into.length = 0;
  into.values.clear();
  into.remainders.clear();
  into.times.clear();
  into.label.reset();
  into.target.reset();
}

void append(const base::SplitNumber& number, Series& into) {
  into.values.push_back(number.value);
  into.remainders.push_back(number.remainder);
}

class CsvReader final : public SeriesReader {
 public:
  CsvReader(LineSource lines, const ReadOptions& options);
  bool next(Series& into) override;

 private:
  bool next_row(std::string_view& line, const Series& into);
  void read_row(std::string_view line, Series& into);
  void read_cells(std::string_view line, Series& into);
  void check_cells(std::string_view line) const;
  void read_id(std::string_view line, Series& into);
  const char* read_cell(const char* at, const char* end, std::size_t column, Series& into);
  base::SplitNumber read_odd_value(std::string_view cell, std::size_t column) const;
  void read_time(std::string_view cell, Series& into) const;
  void read_label(std::string_view cell, Series& into);
  void read_target(std::string_view cell, Series& into);
  void finish(Series& into) const;
  std::string_view id_of(std::string_view line);

  LineSource lines_;
  ReadOptions options_;
  CsvHeader head_;
  std::size_t series_column_ = 0;
  std::map<std::string, int64_t> first_lines_;  // of every series so far
  int64_t label_line_ = 0;                      // where the label or target of this series stands
  std::string storage_;
};

CsvReader::CsvReader(LineSource lines, const ReadOptions& options) : lines_(std::move(lines)), options_(options) {
  head_ = read_csv_header(lines_);
  header_.name = std::filesystem::path(lines_.name()).stem().string();
  header_.channels = static_cast<int64_t>(head_.channel_names.size());
  header_.channel_names = head_.channel_names;
  header_.has_labels = head_.has(CsvColumn::kLabel);
  header_.has_targets = head_.has(CsvColumn::kTarget);
  header_.has_times = head_.has(CsvColumn::kTime);
  while (head_.columns[series_column_] != CsvColumn::kSeries) ++series_column_;
}

bool CsvReader::next(Series& into) {
  clear(into);
  for (std::string_view line; next_row(line, into);) read_row(line, into);
  if (into.length == 0 && first_lines_.empty()) {
    lines_.fail("expected at least one row after the header, got the end of the file");
  }
  if (into.length == 0) return false;
  finish(into);
  return true;
}

/// The next row of the series; the first row there is, if it has none yet. A blank line ends a series, so that a
/// program that writes to a pipe can have its answer before the next series begins.
bool CsvReader::next_row(std::string_view& line, const Series& into) {
  while (lines_.next(line)) {
    if (base::trim(line).empty()) {
      if (into.length > 0) return false;
    } else if (into.length == 0 || id_of(line) == into.id) {
      return true;
    } else {
      lines_.put_back();
      return false;
    }
  }
  return false;
}

/// The id in a row; empty if the row is too short for one, which read_row() reports.
std::string_view CsvReader::id_of(std::string_view line) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t column = 0; column < series_column_; ++column) {
    at = end_of_cell(lines_, at, end, head_.delimiter);
    if (at == end) return {};
    ++at;
  }
  return cell_text({at, end_of_cell(lines_, at, end, head_.delimiter)}, storage_);
}

void CsvReader::read_row(std::string_view line, Series& into) {
  try {
    if (into.length == 0) read_id(line, into);
    read_cells(line, into);
  } catch (const Error&) {  // in a row of too few or too many cells a wrong one is a consequence
    check_cells(line);
    throw;
  }
  ++into.length;
}

void CsvReader::read_cells(std::string_view line, Series& into) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t column = 0;; ++column, ++at) {
    if (column == head_.columns.size()) check_cells(line);
    at = read_cell(at, end, column, into);
    if (at == end && column + 1 < head_.columns.size()) check_cells(line);
    if (at == end) return;
  }
}

/// Throws Error unless there are as many cells as in the header.
void CsvReader::check_cells(std::string_view line) const {
  const char* const end = line.data() + line.size();
  std::size_t found = 1;
  for (const char* at = line.data(); (at = end_of_cell(lines_, at, end, head_.delimiter)) != end; ++at) ++found;
  if (found == head_.columns.size()) return;
  lines_.fail("expected ", head_.columns.size(), " cells as in the header, got ", found);
}

void CsvReader::read_id(std::string_view line, Series& into) {
  into.id = id_of(line);
  if (into.id.empty()) lines_.fail("expected the id of a series, got nothing");
  if (!base::is_utf8(into.id)) lines_.fail("expected the id of a series in UTF-8, got ", base::in_quotes(into.id));
  into.line = lines_.line_number();
  const auto [before, is_new] = first_lines_.emplace(into.id, into.line);
  if (is_new) return;
  lines_.fail("series ", base::in_quotes(into.id),
              ": expected its rows to stand together, got one apart from those of line ", before->second);
}

/// Gives the end of the cell.
const char* CsvReader::read_cell(const char* at, const char* end, std::size_t column, Series& into) {
  if (base::SplitNumber number; head_.columns[column] == CsvColumn::kChannel) {
    const char* stop = base::plain_number(at, end, number);
    if (stop != nullptr && (stop == end || *stop == head_.delimiter)) {
      append(number, into);
      return stop;
    }
  }
  const char* stop = end_of_cell(lines_, at, end, head_.delimiter);
  const std::string_view text = cell_text({at, stop}, storage_);
  switch (head_.columns[column]) {
    case CsvColumn::kSeries:
      break;  // read before the row
    case CsvColumn::kChannel:
      append(read_odd_value(text, column), into);
      break;
    case CsvColumn::kTime:
      read_time(text, into);
      break;
    case CsvColumn::kLabel:
      read_label(text, into);
      break;
    case CsvColumn::kTarget:
      read_target(text, into);
      break;
  }
  return stop;
}

/// A value in quotes or with spaces, a missing one, or a mistake.
base::SplitNumber CsvReader::read_odd_value(std::string_view cell, std::size_t column) const {
  base::SplitNumber number;
  const base::Reading reading = base::read_number(cell, number);
  if (reading == base::Reading::kNumber) return number;
  if (reading == base::Reading::kMissing || reading == base::Reading::kEmpty)
    return {.value = std::numeric_limits<float>::quiet_NaN()};
  lines_.fail("column ", column + 1, ": expected ", base::describe<float>(reading, cell));
}

void CsvReader::read_time(std::string_view cell, Series& into) const {
  double time = 0;
  const base::Reading reading = base::read_number(cell, time);
  if (reading != base::Reading::kNumber) lines_.fail("time: expected ", base::describe<double>(reading, cell));
  if (std::abs(time) > kLargestTime)
    lines_.fail("time: expected a number up to ", kLargestTime, ", got ", base::in_quotes(cell));
  if (!into.times.empty() && time <= into.times.back()) {
    std::ostringstream before;
    before.imbue(std::locale::classic());
    before.precision(std::numeric_limits<double>::max_digits10);
    before << into.times.back();
    lines_.fail("time: expected more than ", before.str(), " of the row before, got ", base::in_quotes(cell));
  }
  into.times.push_back(time);
}

void CsvReader::read_label(std::string_view cell, Series& into) {
  if (cell.empty()) return;
  if (!into.label) {
    if (!base::is_utf8(cell)) {
      lines_.fail("series ", base::in_quotes(into.id), ": expected a label in UTF-8, got ", base::in_quotes(cell));
    }
    into.label = cell;
    label_line_ = lines_.line_number();
  } else if (*into.label != cell) {
    lines_.fail("series ", base::in_quotes(into.id), ": expected label ", base::in_quotes(*into.label), " as in line ",
                label_line_, ", got ", base::in_quotes(cell));
  }
}

void CsvReader::read_target(std::string_view cell, Series& into) {
  double target = 0;
  const base::Reading reading = base::read_number(cell, target);
  if (reading == base::Reading::kEmpty || (reading == base::Reading::kMissing && options_.labels_optional)) return;
  if (reading != base::Reading::kNumber) lines_.fail("target: expected ", base::describe<double>(reading, cell));
  if (!into.target) {
    into.target = target;
    label_line_ = lines_.line_number();
  } else if (*into.target != target) {
    lines_.fail("series ", base::in_quotes(into.id), ": expected target ", *into.target, " as in line ", label_line_,
                ", got ", base::in_quotes(cell));
  }
}

void CsvReader::finish(Series& into) const {
  if (options_.labels_optional) {
    if (into.label == "?") into.label.reset();
    return;
  }
  const bool complete = (into.label || !header_.has_labels) && (into.target || !header_.has_targets);
  if (complete) return;
  lines_.fail_at(into.line, "series ", base::in_quotes(into.id), ": expected a ",
                 header_.has_labels ? "label" : "target", " in one of its rows, got none");
}

}  // namespace

std::unique_ptr<SeriesReader> make_csv_reader(LineSource lines, const ReadOptions& options) {
  return std::make_unique<CsvReader>(std::move(lines), options);
}

}  // namespace primal::data
