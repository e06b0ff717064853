#include "data/series/series_reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/number.h"
#include "base/text.h"
#include "data/series/precise_channels.h"

namespace primal::data {
namespace {

namespace fs = std::filesystem;

/// Looks at the first line that says something and leaves it to be read. A file without any passes for CSV.
bool looks_like_ts(LineSource& lines) {
  for (std::string_view line; lines.next(line);) {
    line = base::trim(line);
    if (line.empty() || line.starts_with('#') || line.starts_with('%')) continue;
    lines.put_back();
    return line.starts_with('@');
  }
  return false;
}

/// Numbers in their order if all names are numbers, else the order of the bytes.
std::vector<std::string> sorted_classes(const std::set<std::string>& names) {
  std::vector<std::tuple<double, std::string>> order;
  bool numbers = true;
  for (const std::string& name : names) {
    double number = 0;
    numbers = numbers && base::read_number(name, number) == base::Reading::kNumber;
    order.emplace_back(number, name);
  }
  if (numbers) std::ranges::sort(order);
  std::vector<std::string> result;
  for (auto& [number, name] : order) result.push_back(std::move(name));
  return result;
}

/// All series of a file must have a label, or none; the same for targets. `expected`: what the first one has.
void check_same(const std::string& file_name, const Series& series, std::string_view what, bool expected, bool has) {
  if (has == expected) return;
  base::fail(file_name + ":" + std::to_string(series.line), "series ", base::in_quotes(series.id), ": expected ",
             expected ? "a " : "no ", what, " as for the first series, got ", has ? "one" : "none");
}

void append(TimeSeriesSet& set, Series& series, PreciseChannels& precise) {
  precise.add(series, set.remainders);
  set.ids.push_back(std::move(series.id));
  set.offsets.push_back(set.offsets.back() + series.length);
  set.values.insert(set.values.end(), series.values.begin(), series.values.end());
  set.times.insert(set.times.end(), series.times.begin(), series.times.end());
  if (series.target) set.targets.push_back(*series.target);
}

void set_labels(TimeSeriesSet& set, const std::vector<std::string>& labels) {
  if (labels.empty()) return;
  if (set.class_names.empty()) set.class_names = sorted_classes({labels.begin(), labels.end()});
  std::map<std::string_view, int64_t> index;
  for (const std::string& name : set.class_names) index.emplace(name, static_cast<int64_t>(index.size()));
  for (const std::string& label : labels) set.labels.push_back(index.at(label));
}

}  // namespace

std::unique_ptr<SeriesReader> open_series(const fs::path& path, const ReadOptions& options) {
  LineSource lines(path);
  const std::string ending = base::lower(path.extension().string());
  const bool is_ts = ending == ".ts" || (ending != ".csv" && looks_like_ts(lines));
  return is_ts ? make_ts_reader(std::move(lines), options) : make_csv_reader(std::move(lines), options);
}

TimeSeriesSet read_all(SeriesReader& reader, const std::string& file_name, const ReadOptions& options) {
  TimeSeriesSet set;
  PreciseChannels precise(options.all_remainders);
  std::vector<std::string> labels;
  bool has_label = false, has_target = false;
  for (Series series; reader.next(series);) {
    if (set.cases() == 0) has_label = series.label.has_value(), has_target = series.target.has_value();
    check_same(file_name, series, "label", has_label, series.label.has_value());
    check_same(file_name, series, "target", has_target, series.target.has_value());
    if (series.label) labels.push_back(std::move(*series.label));
    append(set, series, precise);
  }
  set.precise = precise.finish(set.remainders);
  set.name = reader.name();
  set.channels = reader.channels();
  set.channel_names = reader.channel_names();
  set.class_names = reader.class_names();
  set_labels(set, labels);
  return set;
}

TimeSeriesSet read_series(const fs::path& path, const ReadOptions& options) {
  return read_all(*open_series(path, options), path == "-" ? "standard input" : path.string(), options);
}

}  // namespace primal::data
