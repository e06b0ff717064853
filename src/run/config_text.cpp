#include "run/config_text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "base/text.h"

namespace primal::run {
namespace {

/// The first `wanted` that is not inside quotes, or npos.
std::size_t find_outside_quotes(std::string_view line, char wanted) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote == 0 && line[i] == wanted) return i;
    if (quote == '"' && line[i] == '\\') {
      ++i;
    } else if (quote != 0) {
      if (line[i] == quote) quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    }
  }
  return line.npos;
}

std::string_view without_quotes(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.front() == text.back();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

void add_line(Config& config, std::string& section, std::string_view line) {
  line = base::trim(line.substr(0, find_outside_quotes(line, '#')));
  if (line.empty()) return;
  const std::size_t equals = find_outside_quotes(line, '=');
  if (equals != line.npos) {
    std::string key = section.empty() ? "" : section + ".";
    key += base::trim(line.substr(0, equals));
    config.settings.push_back({key, std::string(base::trim(line.substr(equals + 1)))});
  } else if (line.front() == '[' && line.back() == ']' && (line.size() < 2 || line[1] != '[')) {
    section = base::trim(line.substr(1, line.size() - 2));
  } else if (!config.settings.empty()) {
    config.settings.back().value.append(" ").append(line);
  }
}

}  // namespace

std::optional<std::string> Config::find(std::string_view key) const {
  const auto found = std::ranges::find(settings, key, &Setting::key);
  if (found == settings.end()) return std::nullopt;
  return found->value;
}

std::optional<std::string> Config::find_text(std::string_view key) const {
  const auto value = find(key);
  if (!value) return std::nullopt;
  return std::string(without_quotes(*value));
}

double Config::number(std::string_view key) const {
  const std::string text_of_value = find(key).value_or("");
  double number = std::numeric_limits<double>::quiet_NaN();
  const char* end = text_of_value.data() + text_of_value.size();
  const auto [stop, error] = std::from_chars(text_of_value.data(), end, number);
  const bool is_number = error == std::errc() && stop == end;
  return is_number ? number : std::numeric_limits<double>::quiet_NaN();
}

Config parse_config(std::string_view text) {
  Config config;
  config.text = text;
  std::string section;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add_line(config, section, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return config;
}

}  // namespace primal::run
