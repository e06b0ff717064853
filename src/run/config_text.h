// The resolved configuration of a run, as text: the report shows values and compares them, but interprets few.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace primal::run {

struct Setting {
  std::string key;    ///< "model.rank"
  std::string value;  ///< as written, "40" or "\"cosine\""
};

struct Config {
  std::string text;
  std::vector<Setting> settings;  ///< in the order of the file

  /// The value as written, or nothing.
  std::optional<std::string> find(std::string_view key) const;
  /// The value without quotes, or nothing.
  std::optional<std::string> find_text(std::string_view key) const;
  /// The value as a number; NaN if the key is missing or no number.
  double number(std::string_view key) const;
};

/// Takes `[section]` and `key = value` lines. A line without "=" goes on with the value before (arrays over several
/// lines). Comments are left out. Never fails: the program that wrote the file has checked it.
Config parse_config(std::string_view text);

}  // namespace primal::run
