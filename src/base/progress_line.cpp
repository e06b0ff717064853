#include "base/progress_line.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/format.h"

namespace primal::base {
namespace {

constexpr int kShortestBar = 6;  // below that a bar tells less than its percentage
constexpr int kLongestBar = 40;  // beyond, the eye travels for nothing
constexpr int kPercentWidth = 5;

constexpr std::string_view kNormal = "\x1b[0m";
constexpr std::string_view kDim = "\x1b[90m";
constexpr std::string_view kCyan = "\x1b[36m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kRed = "\x1b[31m";

std::string paint(std::string_view text, std::string_view style, bool colour) {
  if (!colour || text.empty()) return std::string(text);
  return std::string(style) + std::string(text) + std::string(kNormal);
}

// ---- numbers: "loss 0.231", "2.8k tok/s"

struct Field {
  int importance;  // the lowest is left out first
  std::string_view name;
  std::string value;
  std::string_view unit = {};
  bool alarm = false;

  int width() const {
    return static_cast<int>(name.size() + !name.empty() + value.size() + !unit.empty() + unit.size());
  }

  std::string text(bool colour) const {
    std::string result = paint(name, kDim, colour);
    if (!name.empty()) result += ' ';
    result += alarm ? paint(value, kRed, colour) : value;
    if (!unit.empty()) result += ' ';
    return result + paint(unit, kDim, colour);
  }
};

bool is_done(const ProgressState& state) { return state.total_steps > 0 && state.done_steps >= state.total_steps; }

double or_nan(const std::optional<double>& value) { return value.value_or(std::numeric_limits<double>::quiet_NaN()); }

Field metric(int importance, std::string_view name, double value) {
  return {importance, name, format_metric(value), "", !std::isfinite(value)};
}

/// In the order of the line.
std::vector<Field> fields_of(const ProgressState& state) {
  std::vector<Field> fields;
  const auto add = [&fields](double known, const Field& field) {
    if (!std::isnan(known)) fields.push_back(field);
  };
  const double objective = or_nan(state.objective);
  const double speed = or_nan(state.tokens_per_second);
  if (state.loss) fields.push_back(metric(5, "loss", *state.loss));
  if (!state.score.empty()) fields.push_back({4, state.score_name, state.score});
  add(objective, metric(2, "J", objective));
  add(speed, {1, "", format_count(speed), "tok/s"});
  if (is_done(state)) {
    add(state.elapsed_seconds, {3, "took", format_duration(state.elapsed_seconds)});
  } else {
    add(state.remaining_seconds, {3, "ETA", format_duration(state.remaining_seconds)});
  }
  return fields;
}

int total_width(const std::vector<Field>& fields) {
  int width = 0;
  for (const Field& field : fields) width += 2 + field.width();
  return width;
}

void keep_what_fits(std::vector<Field>& fields, int room) {
  const auto less = [](const Field& a, const Field& b) { return a.importance < b.importance; };
  while (total_width(fields) > room) fields.erase(std::min_element(fields.begin(), fields.end(), less));
}

std::string text_of(const std::vector<Field>& fields, bool colour) {
  std::string text;
  for (const Field& field : fields) text += "  " + field.text(colour);
  return text;
}

// ---- head and bar

/// "epoch  2/100": as wide in every epoch, so that the line stands still.
std::string epoch_text(const ProgressState& state) {
  if (state.epochs <= 0) return "";
  const std::string last = std::to_string(state.epochs);
  const std::string now = std::to_string(state.epoch);
  return std::string(state.counted) + " " + std::string(last.size() - std::min(last.size(), now.size()), ' ') + now +
         "/" + last;
}

std::string head_text(const ProgressState& state) {
  const std::string epoch = epoch_text(state);
  return std::string(state.label) + (state.label.empty() || epoch.empty() ? "" : "  ") + epoch;
}

/// Without the label, or cut, if there is no room.
std::string head_that_fits(const ProgressState& state, int room) {
  std::string head = head_text(state);
  if (display_width(head) <= room) return head;
  if (state.epochs > 0) head = epoch_text(state);
  return std::string(cut_to_width(head, room));
}

/// How many of `parts` equal parts of the epoch are done. Integers round down: all of them means that nothing is left.
int parts_done(const ProgressState& state, int parts) {
  return static_cast<int>(std::clamp<std::int64_t>(state.step, 0, state.steps) * parts / state.steps);
}

std::string percent_text(const ProgressState& state) {
  const std::string text = std::to_string(parts_done(state, 100)) + " %";
  return std::string(kPercentWidth - text.size(), ' ') + text;
}

struct BarGlyphs {
  std::string_view full;
  std::string_view half;
  std::string_view first_empty;  // after a full one
  std::string_view empty;
};

/// With colour the two parts differ in it and only the seam shows; without, they need different lines.
BarGlyphs glyphs(bool unicode, bool colour) {
  if (!unicode) return {"=", "-", ".", "."};
  return colour ? BarGlyphs{"━", "╸", "╺", "━"} : BarGlyphs{"━", "╾", "─", "─"};
}

std::string repeat(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

/// In steps of half a column.
std::string bar_text(const ProgressState& state, int width, bool unicode, bool colour) {
  const BarGlyphs glyph = glyphs(unicode, colour);
  const int halves = parts_done(state, 2 * width);
  const bool half = halves % 2 != 0;
  const int full = halves / 2;
  const int empty = width - full - (half ? 1 : 0);
  const bool seam = full > 0 && !half && empty > 0;
  const std::string done = repeat(glyph.full, full) + std::string(half ? glyph.half : "");
  const std::string rest = std::string(seam ? glyph.first_empty : "") + repeat(glyph.empty, empty - (seam ? 1 : 0));
  return paint(done, full < width ? kCyan : kGreen, colour) + paint(rest, kDim, colour);
}

}  // namespace

std::string render(const ProgressState& state, int width, bool unicode, bool colour) {
  std::string line = head_that_fits(state, std::max(width, 0));
  int room = width - display_width(line);
  const auto gap = [&line] { return line.empty() ? 0 : 1; };

  const bool percent = state.steps > 0 && room >= gap() + kPercentWidth;
  if (percent) room -= gap() + kPercentWidth;
  const bool bar = percent && room >= 1 + kShortestBar;
  if (bar) room -= 1 + kShortestBar;
  std::vector<Field> fields = fields_of(state);
  keep_what_fits(fields, std::max(room, 0));
  room -= total_width(fields);

  if (percent) line += std::string(gap(), ' ');
  if (bar) line += bar_text(state, std::min(kShortestBar + room, kLongestBar), unicode, colour) + ' ';
  if (percent) line += percent_text(state);
  return line + text_of(fields, colour);
}

std::string render_plain(const ProgressState& state) {
  std::string line = head_text(state);
  if (state.steps > 0) line += std::string(line.empty() ? 0 : 1, ' ') + percent_text(state);
  line += text_of(fields_of(state), false);
  // With neither head nor percentage the line would start with the gap before its first field.
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

}  // namespace primal::base
