// .ts files of the UEA and UCR archives: one case per line, its channels one after another, then the label.
#include <algorithm>
#include <limits>
#include <set>

#include "base/nearest.h"
#include "base/number.h"
#include "base/text.h"
#include "data/series/series_reader.h"
#include "data/series/ts_header.h"

namespace primal::data {
namespace {

constexpr base::SplitNumber kMissing{.value = std::numeric_limits<float>::quiet_NaN()};

class TsReader final : public SeriesReader {
 public:
  TsReader(LineSource lines, const ReadOptions& options);
  bool next(Series& into) override;

 private:
  void read_case(std::string_view line, Series& into);
  std::optional<std::string_view> take_label(std::string_view& line) const;
  void read_label(std::string_view text, Series& into) const;
  int64_t read_channels(std::string_view text);
  const char* read_channel(const char* at, const char* end, int64_t channel);
  base::SplitNumber read_odd_value(std::string_view field, int64_t channel, std::size_t index, bool is_last) const;
  std::string label_hint() const;
  void check_channels(int64_t found);
  void check_length(int64_t length);

  LineSource lines_;
  ReadOptions options_;
  std::set<std::string, std::less<>> classes_;
  std::optional<bool> equal_length_;
  std::optional<int64_t> series_length_;
  int64_t dimensions_line_;
  std::vector<base::SplitNumber> by_channel_;  // [channels, length] of the case being read
  int64_t case_length_ = 0;                    // of its first channel
  int64_t cases_ = 0;
};

TsReader::TsReader(LineSource lines, const ReadOptions& options) : lines_(std::move(lines)), options_(options) {
  TsHeader head = read_ts_header(lines_);
  header_.name = std::move(head.problem_name);
  if (header_.name.empty()) header_.name = std::filesystem::path(lines_.name()).stem().string();
  header_.channels = head.dimensions.value_or(0);
  header_.class_names = std::move(head.class_names);
  header_.has_labels = head.has_labels;
  header_.has_targets = head.has_targets;
  dimensions_line_ = head.dimensions_line;
  classes_ = {header_.class_names.begin(), header_.class_names.end()};
  equal_length_ = head.equal_length;
  // Some files of unequal length give the length of the longest series.
  if (equal_length_.value_or(true)) series_length_ = head.series_length;
}

bool TsReader::next(Series& into) {
  for (std::string_view line; lines_.next(line);) {
    line = base::trim(line);
    if (is_ts_comment(line)) continue;
    read_case(line, into);
    ++cases_;
    return true;
  }
  if (cases_ == 0) lines_.fail("expected at least one case after @data, got the end of the file");
  return false;
}

void TsReader::read_case(std::string_view line, Series& into) {
  if (line.starts_with('@')) lines_.fail("expected a case, got the directive ", base::in_quotes(line));
  into.label.reset();
  into.target.reset();
  into.times.clear();
  if (const std::optional<std::string_view> label = take_label(line)) read_label(*label, into);
  const int64_t channels = read_channels(line);
  check_channels(channels);
  check_length(case_length_);
  into.id = std::to_string(cases_);
  into.line = lines_.line_number();
  into.length = case_length_;
  into.values.resize(by_channel_.size());
  into.remainders.resize(by_channel_.size());
  for (int64_t c = 0; c < channels; ++c) {
    const base::SplitNumber* from = by_channel_.data() + c * into.length;
    for (int64_t t = 0; t < into.length; ++t) {
      into.values[t * channels + c] = from[t].value;
      into.remainders[t * channels + c] = from[t].remainder;
    }
  }
}

/// Takes the last field off the line if it is a label or a target.
std::optional<std::string_view> TsReader::take_label(std::string_view& line) const {
  if (!header_.has_labels && !header_.has_targets) return std::nullopt;
  const std::size_t colon = line.rfind(':');
  const std::string_view last = base::trim(colon == line.npos ? line : line.substr(colon + 1));
  if (options_.labels_optional) {
    // Without @dimensions the first case tells by its last field: a label has no comma.
    const bool absent =
        header_.channels == 0 ? last.find(',') != last.npos : std::ranges::count(line, ':') == header_.channels - 1;
    if (absent) return std::nullopt;
  }
  if (colon == line.npos) {
    lines_.fail("expected values, ':' and a ", header_.has_labels ? "class label" : "target", ", got ",
                base::in_quotes(line));
  }
  line = line.substr(0, colon);
  if (options_.labels_optional && (last.empty() || last == "?")) return std::nullopt;
  return last;
}

void TsReader::read_label(std::string_view text, Series& into) const {
  if (header_.has_targets) {
    double target = 0;
    const base::Reading reading = base::read_number(text, target);
    if (reading != base::Reading::kNumber) lines_.fail("target: expected ", base::describe<double>(reading, text));
    into.target = target;
  } else if (classes_.contains(text)) {
    into.label = text;
  } else {
    const std::optional<std::string> meant = base::nearest(text, header_.class_names);
    lines_.fail("expected a class of @classLabel such as ",
                base::in_quotes(meant.value_or(header_.class_names.front())), ", got ", base::in_quotes(text));
  }
}

/// Fills by_channel_ and case_length_; gives the number of channels.
int64_t TsReader::read_channels(std::string_view text) {
  by_channel_.clear();
  const char* const end = text.data() + text.size();
  int64_t channel = 0;
  for (const char* at = text.data();; ++at) {
    const std::size_t before = by_channel_.size();
    at = read_channel(at, end, channel);
    const auto length = static_cast<int64_t>(by_channel_.size() - before);
    if (channel == 0) case_length_ = length;
    if (length != case_length_) {
      lines_.fail("channel ", channel + 1, ": expected ", case_length_, " values as in channel 1, got ", length,
                  at == end && length == 1 ? label_hint() : "");
    }
    ++channel;
    if (at == end) return channel;
  }
}

/// Appends the values from `at` to the next ':' or to the end, and gives that place.
const char* TsReader::read_channel(const char* at, const char* end, int64_t channel) {
  const std::size_t before = by_channel_.size();
  for (;; ++at) {
    base::SplitNumber number;
    const char* stop = base::plain_number(at, end, number);
    if (stop == nullptr || (stop != end && *stop != ',' && *stop != ':')) {
      stop = std::find_if(at, end, [](char c) { return c == ',' || c == ':'; });
      number = read_odd_value({at, stop}, channel, by_channel_.size() - before, stop == end);
    }
    by_channel_.push_back(number);
    at = stop;
    if (at == end || *at == ':') return at;
  }
}

/// A value with spaces, a missing one, or a mistake.
base::SplitNumber TsReader::read_odd_value(std::string_view field, int64_t channel, std::size_t index,
                                           bool is_last) const {
  base::SplitNumber number;
  const base::Reading reading = base::read_number(field, number);
  if (reading == base::Reading::kNumber) return number;
  if (reading == base::Reading::kMissing) return kMissing;
  if (base::trim(field).starts_with('(')) lines_.fail("expected ", kNoTimeStamps, ", got ", base::in_quotes(field));
  if (is_last && index == 0 && classes_.contains(base::trim(field))) {  // labels are optional, so this was no label
    lines_.fail("expected ", header_.channels, " channels as @dimensions in line ", dimensions_line_, " says, got ",
                channel, " and class ", base::in_quotes(base::trim(field)));
  }
  lines_.fail("channel ", channel + 1, ", value ", index + 1, ": expected ", base::describe<float>(reading, field),
              reading == base::Reading::kOther && is_last && index == 0 && channel > 0 ? label_hint() : "");
}

/// After a last field that is no channel.
std::string TsReader::label_hint() const {
  if (header_.has_labels || header_.has_targets) return "";
  return "; if that is the class of the series, the head needs a line @classLabel true and the names of the classes";
}

void TsReader::check_channels(int64_t found) {
  if (header_.channels == 0) header_.channels = found;
  if (found == header_.channels) return;
  const std::string says =
      dimensions_line_ > 0 ? " as @dimensions in line " + std::to_string(dimensions_line_) + " says" : std::string();
  lines_.fail("expected ", header_.channels, header_.channels == 1 ? " channel" : " channels", says, ", got ", found,
              found == header_.channels + 1 ? label_hint() : "");
}

void TsReader::check_length(int64_t length) {
  if (equal_length_.value_or(false) && !series_length_) series_length_ = length;
  if (series_length_ && length != *series_length_) {
    lines_.fail("expected a series of length ", *series_length_, ", got ", length);
  }
}

}  // namespace

std::unique_ptr<SeriesReader> make_ts_reader(LineSource lines, const ReadOptions& options) {
  return std::make_unique<TsReader>(std::move(lines), options);
}

}  // namespace primal::data
