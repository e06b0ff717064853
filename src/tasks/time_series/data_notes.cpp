#include "tasks/time_series/data_notes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace primal::tasks {

namespace {

constexpr size_t kNamesShown = 5;

// A column that tables have besides their measurements. A column `time` never becomes a channel.
bool names_no_measurement(const std::string& name) {
  constexpr std::array<std::string_view, 11> kWords = {"timestamp", "time_stamp", "datetime", "date", "index", "idx",
                                                       "id",        "series_id",  "row",      "step", "nr"};
  const std::string word = base::lower(name);
  return std::ranges::find(kWords, word) != kWords.end() || word.starts_with("unnamed");
}

struct ChannelKinds {
  std::vector<std::string> constant, empty, no_measurement;
};

ChannelKinds kinds_of(const data::TimeSeriesSet& set) {
  ChannelKinds kinds;
  for (int64_t c = 0; c < set.channels; ++c) {
    const bool is_named = !set.channel_names.empty();
    const std::string name = is_named ? set.channel_names[static_cast<size_t>(c)] : std::to_string(c + 1);
    double first = std::nan("");
    bool varies = false;
    for (size_t i = static_cast<size_t>(c); i < set.values.size(); i += static_cast<size_t>(set.channels)) {
      const double value = set.values[i] + (set.remainders.empty() ? 0.0 : set.remainders[i]);
      if (std::isnan(value)) continue;
      if (std::isnan(first)) first = value;
      varies = value != first;
      if (varies) break;
    }
    if (std::isnan(first)) kinds.empty.push_back(name);
    if (!std::isnan(first) && !varies) kinds.constant.push_back(name);
    if (is_named && names_no_measurement(name)) kinds.no_measurement.push_back(name);
  }
  return kinds;
}

}  // namespace

std::string some_of(std::span<const std::string> names, size_t most) {
  if (names.size() <= most) return base::joined(names, ", ");
  return base::joined(names.first(most), ", ") + " and " + std::to_string(names.size() - most) + " more";
}

std::vector<std::string> channel_notes(const data::TimeSeriesSet& set) {
  const ChannelKinds kinds = kinds_of(set);
  std::vector<std::string> notes;
  const auto add = [&](const std::vector<std::string>& names, const char* one, const char* several) {
    if (names.empty()) return;
    notes.push_back((names.size() == 1 ? "channel " : "channels ") + some_of(names, kNamesShown) + " " +
                    (names.size() == 1 ? one : several));
  };
  add(kinds.constant, "is constant: it tells nothing", "are constant: they tell nothing");
  add(kinds.empty, "has no value at all", "have no value at all");
  add(kinds.no_measurement,
      "is taken for a measurement, though its name says otherwise; leave the column out, or name it time",
      "are taken for measurements, though their names say otherwise; leave the columns out");
  return notes;
}

std::optional<std::string> cut_note(int64_t cut, int64_t cases, int64_t tokens, const std::string& which) {
  if (cut == 0) return std::nullopt;
  return std::to_string(cut) + " of " + std::to_string(cases) + " " + which +
         " are longer than the longest training series (" + std::to_string(tokens) +
         " steps): only their beginning was looked at";
}

std::optional<std::string> cut_note(const data::TimeSeriesSet& set, int64_t tokens, const std::string& which) {
  int64_t cut = 0;
  for (int64_t i = 0; i < set.cases(); ++i) cut += set.length(i) > tokens;
  return cut_note(cut, set.cases(), tokens, which);
}

}  // namespace primal::tasks
