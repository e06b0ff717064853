#include "base/settings.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "base/nearest.h"
#include "base/setting_values.h"
#include "base/text.h"
#include "primal/error.h"

namespace primal::base {

namespace {

constexpr int kDeepestBase = 8;  // a base that names itself would never end

std::string shown(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  std::string line = text.str();
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line.size() > 60 ? line.substr(0, 57) + "..." : line;
}

void check_elements(const Settings::Target& field, const std::vector<std::string>& allowed, const std::string& where) {
  const auto* list = std::get_if<std::vector<std::string>*>(&field);
  if (!list || allowed.empty()) return;
  for (const std::string& word : **list) {
    if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) {
      throw Error(where + ": expected a list of " + joined(allowed, ", ") + ", got \"" + word + "\"");
    }
  }
}

constexpr double kLongestSpan = 1e9;  // steps or epochs, longer than anybody trains: products must not overflow

// Whole numbers with all their digits.
std::string shown(double value) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  if (value == std::floor(value) && std::abs(value) < 1e15) text.precision(15);
  text << value;
  return text.str();
}

// "at least 0", if that is what the value is not; nothing if it is in the range.
std::optional<std::string> expected_instead(const Range& range, double value) {
  if (!(range.has_least ? value >= range.least : value > range.least)) {
    return (range.has_least ? "at least " : "more than ") + shown(range.least);
  }
  if (!(range.has_most ? value <= range.most : value < range.most)) {
    return (range.has_most ? "at most " : "less than ") + shown(range.most);
  }
  return std::nullopt;
}

struct CheckRange {
  const std::string& key;
  const Range& range;

  void operator()(const int64_t* field) const { check(static_cast<double>(*field), std::to_string(*field)); }
  void operator()(const double* field) const { check(*field, shown(*field)); }
  void operator()(const std::vector<int64_t>* field) const {
    for (const int64_t number : *field) (*this)(&number);
  }
  void operator()(const SpanField& field) const {
    Range of_count = range;
    of_count.most = std::min(range.most, kLongestSpan);
    const auto expected = expected_instead(of_count, static_cast<double>(field.span->count));
    if (!expected) return;
    const bool is_one = expected->ends_with(" 1");
    const std::string unit = field.span->unit == SpanUnit::steps ? " step" : " epoch";
    throw Error(key + ": expected " + *expected + unit + (is_one ? "" : "s") + ", got " + to_text(*field.span));
  }

 private:
  void check(double value, const std::string& text) const {
    if (const auto expected = expected_instead(range, value))
      throw Error(key + ": expected " + *expected + ", got " + text);
  }
};

struct Leaf {
  std::string key;
  const toml::node* node;
};

void collect_leaves(const toml::table& table, const std::string& prefix, std::vector<Leaf>& leaves) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const toml::table* inner = node.as_table()) {
      collect_leaves(*inner, key + ".", leaves);
    } else {
      leaves.push_back({key, &node});
    }
  }
}

toml::table parsed(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) throw Error(path.string() + ": is a directory, expected a TOML file");
  try {
    return toml::parse_file(path.string());
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    throw Error(path.string() + (line > 0 ? ":" + std::to_string(line) : "") + ": " + std::string(error.description()));
  }
}

}  // namespace

void Settings::add(std::string key, Number field, std::string help, Range range) {
  Target target = std::visit([](auto number) { return Target(number); }, field);
  settings_.push_back(
      {.key = std::move(key), .field = std::move(target), .help = std::move(help), .limits = {{field, range}}});
}

void Settings::add(std::string key, Other field, std::string help, std::vector<std::string> elements) {
  Target target = std::visit([](auto& other) { return Target(std::move(other)); }, field);
  settings_.push_back(
      {.key = std::move(key), .field = std::move(target), .help = std::move(help), .elements = std::move(elements)});
}

void Settings::add_old(std::string key, Target field) {
  settings_.push_back({.key = std::move(key), .field = std::move(field), .help = {}, .is_old = true});
}

const Settings::Setting& Settings::find(std::string_view key, const std::string& origin) {
  const auto found = std::find_if(settings_.begin(), settings_.end(), [&](const Setting& s) { return s.key == key; });
  if (found != settings_.end()) return *found;
  std::vector<std::string> keys;
  for (const Setting& setting : settings_) keys.push_back(setting.key);
  const auto meant = nearest(key, keys);
  throw Error(origin + ": unknown key " + std::string(key) +
              (meant ? "; did you mean " + *meant + "?" : "; primal train --keys lists all"));
}

void Settings::set(std::string_view key, std::string_view text, const std::string& origin) {
  const Setting& setting = find(key, origin);
  const std::string where = origin + ": " + setting.key;
  if (!is_utf8(text)) throw Error(where + ": expected UTF-8, which config.toml can hold, got " + in_quotes(text));
  if (!put_text(text, setting.field)) {
    throw Error(where + ": expected " + kind_name(setting.field) + ", got \"" + std::string(text) + "\"");
  }
  check_elements(setting.field, setting.elements, where);
}

void Settings::read_file(const std::filesystem::path& path) { read_file(path, 0); }

void Settings::read_file(const std::filesystem::path& path, int depth) {
  toml::table table = parsed(path);
  if (const auto base = table["base"].value<std::string>()) {
    if (depth == kDeepestBase) throw Error(path.string() + ": the chain of base files does not end");
    read_file(path.parent_path() / *base, depth + 1);
    table.erase("base");
  }
  std::vector<Leaf> leaves;
  collect_leaves(table, "", leaves);
  for (const Leaf& leaf : leaves) {
    const std::string line = path.string() + ":" + std::to_string(leaf.node->source().begin.line);
    const Setting& setting = find(leaf.key, line);
    const std::string where = line + ": " + setting.key;
    if (!put_toml(*leaf.node, setting.field)) {
      throw Error(where + ": expected " + kind_name(setting.field) + ", got " + shown(*leaf.node));
    }
    check_elements(setting.field, setting.elements, where);
  }
}

void Settings::check() const {
  for (const Setting& setting : settings_) check(setting.key);
}

void Settings::check(std::string_view key) const {
  for (const Setting& setting : settings_) {
    if (setting.key == key && setting.limits)
      std::visit(CheckRange{setting.key, setting.limits->second}, setting.limits->first);
  }
}

std::optional<std::string> Settings::peek(const std::filesystem::path& path, std::string_view key) {
  std::filesystem::path file = path;
  for (int depth = 0; depth <= kDeepestBase; ++depth) {
    const toml::table table = parsed(file);
    if (const auto value = table.at_path(key).value<std::string>()) return value;
    const auto base = table["base"].value<std::string>();
    if (!base) return std::nullopt;
    file = file.parent_path() / *base;
  }
  return std::nullopt;  // read_file() says what is wrong
}

void Settings::read_environment() {
  for (const Setting& setting : settings_) {
    std::string variable = "PRIMAL_" + setting.key;
    for (char& c : variable) c = c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (const char* text = std::getenv(variable.c_str())) set(setting.key, text, variable);
  }
}

std::string Settings::toml() const {
  std::vector<std::pair<std::string, std::string>> sections;  // name and lines, in the order of their first key
  for (const Setting& setting : settings_) {
    if (setting.is_old) continue;
    const size_t dot = setting.key.find('.');
    const std::string name = setting.key.substr(0, dot);
    auto section = std::find_if(sections.begin(), sections.end(), [&](const auto& s) { return s.first == name; });
    if (section == sections.end()) section = sections.insert(section, {name, ""});
    section->second += setting.key.substr(dot + 1) + " = " + as_toml(setting.field) + "\n";
  }
  std::string text;
  for (const auto& [name, lines] : sections) text += (text.empty() ? "[" : "\n[") + name + "]\n" + lines;
  return text;
}

std::string Settings::listing() const {
  std::string text;
  for (const Setting& setting : settings_) {
    if (setting.is_old) continue;
    std::string line = setting.key + " = " + as_toml(setting.field);
    line.resize(std::max<size_t>(line.size() + 2, 44), ' ');
    text += line + setting.help;
    if (const auto* choice = std::get_if<Choice>(&setting.field)) text += " (" + joined(choice->names, ", ") + ")";
    if (!setting.elements.empty()) text += " (list of " + joined(setting.elements, ", ") + ")";
    text += '\n';
  }
  return text;
}

}  // namespace primal::base
