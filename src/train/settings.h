// Options of a run by name: bound once to the fields of plain structs, then read from TOML, environment and flags.
//
//   ModelOptions model;
//   Settings settings;
//   settings.add("model.rank", model.rank, "rank s of the kernel SVD");
//   settings.read_file("configs/uea/JapaneseVowels.toml");
//   settings.set("model.rank", "30", "--set");
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primal::train {

/// A field of an enumeration, by the names of its values.
struct Choice {
  std::vector<std::string> names;
  std::function<std::string()> get;
  std::function<void(const std::string&)> put;  ///< gets one of the names
};

template <class Enum>
Choice choice(Enum& field, std::vector<std::pair<std::string, Enum>> values) {
  Choice result;
  for (const auto& [name, value] : values) result.names.push_back(name);
  result.get = [&field, values] {
    for (const auto& [name, value] : values) {
      if (value == field) return name;
    }
    return std::string();
  };
  result.put = [&field, values](const std::string& text) {
    for (const auto& [name, value] : values) {
      if (name == text) field = value;
    }
  };
  return result;
}

class Settings {
 public:
  using Target = std::variant<int64_t*, double*, bool*, std::string*, std::vector<std::string>*, Choice>;

  /// The field must outlive the settings. `elements`: the only ones a list may have; empty = any.
  void add(std::string key, Target field, std::string help, std::vector<std::string> elements = {});

  /// From text, as after --set; a list is comma separated. `origin` begins the message of an Error.
  void set(std::string_view key, std::string_view text, const std::string& origin);
  /// From a TOML file. A top-level `base = "other.toml"` is read first, relative to the file.
  void read_file(const std::filesystem::path& path);
  /// From the environment: model.rank is PRIMAL_MODEL_RANK.
  void read_environment();

  /// Every setting with its present value, as TOML that read_file() understands.
  std::string toml() const;
  /// key, value, help of each setting, one per line, for --help.
  std::string listing() const;

 private:
  struct Setting {
    std::string key;
    Target field;
    std::string help;
    std::vector<std::string> elements;
  };

  const Setting& find(std::string_view key, const std::string& origin);
  void read_file(const std::filesystem::path& path, int depth);

  std::vector<Setting> settings_;
};

}  // namespace primal::train
