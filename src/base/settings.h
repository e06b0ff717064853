// Options of a run by name: bound once to the fields of plain structs, then read from TOML, environment and flags.
//
//   ModelOptions model;
//   Settings settings;
//   settings.add("model.rank", &model.rank, "rank s of the kernel SVD", at_least(1));
//   settings.read_file("configs/uea/JapaneseVowels.toml");
//   settings.set("model.rank", "30", "--set");
//   settings.check();
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/setting_fields.h"

namespace primal::base {

/// Which values a number may have; of a stretch: its count.
struct Range {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  bool has_least = true, has_most = true;  ///< whether the ends belong to it
};

inline Range any_number() { return {}; }
inline Range at_least(double least) { return {.least = least}; }
inline Range more_than(double least) { return {.least = least, .has_least = false}; }
inline Range from_to(double least, double most) { return {.least = least, .most = most}; }
/// From 0 to below 1.
inline Range share() { return {.least = 0, .most = 1, .has_most = false}; }
/// Numbers of things: a product of two stays within 64 bits.
inline Range count_from(double least) { return {.least = least, .most = 1e9}; }

class Settings {
 public:
  /// A list of whole numbers: one of them may stand without brackets.
  using Number = std::variant<int64_t*, double*, SpanField, std::vector<int64_t>*>;
  using Other = std::variant<bool*, std::string*, std::vector<std::string>*, Choice, WordOrNumbers>;
  using Target = SettingField;

  /// The field must outlive the settings. A stretch has at most 10^9 steps or epochs, whatever the range says.
  void add(std::string key, Number field, std::string help, Range range);
  /// `elements`: the only ones a list may have; empty = any.
  void add(std::string key, Other field, std::string help, std::vector<std::string> elements = {});

  /// A name that older files have for a field; it is read, but neither listed nor written.
  void add_old(std::string key, Target field);

  /// From text, as after --set; a list is comma separated. `origin` begins the message of an Error.
  void set(std::string_view key, std::string_view text, const std::string& origin);
  /// From a TOML file. A top-level `base = "other.toml"` is read first, relative to the file.
  void read_file(const std::filesystem::path& path);
  /// From the environment: model.rank is PRIMAL_MODEL_RANK.
  void read_environment();

  /// Throws Error that names the first key whose value is not in its range, what was expected and what came.
  void check() const;
  /// The same for one key.
  void check(std::string_view key) const;

  /// The value of one key of a TOML file and its bases, if it is a text; nothing if it is not there. For what has to be
  /// known before the settings are.
  static std::optional<std::string> peek(const std::filesystem::path& path, std::string_view key);

  /// Every setting with its present value, as TOML that read_file() understands.
  std::string toml() const;
  /// key, value, help of each setting, one per line, for --help.
  std::string listing() const;

 private:
  struct Setting {
    std::string key;
    Target field;
    std::string help;
    std::vector<std::string> elements{};
    std::optional<std::pair<Number, Range>> limits{};  ///< of a number
    bool is_old = false;
  };

  const Setting& find(std::string_view key, const std::string& origin);
  void read_file(const std::filesystem::path& path, int depth);

  std::vector<Setting> settings_;
};

}  // namespace primal::base
