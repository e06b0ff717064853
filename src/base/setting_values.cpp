#include "base/setting_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <variant>

#include "base/text.h"

namespace primal::base {

namespace {

struct KindName {
  std::string operator()(const Choice& choice) const { return "one of " + joined(choice.names, ", "); }
  std::string operator()(const int64_t*) const { return "a whole number"; }
  std::string operator()(const double*) const { return "a number"; }
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const std::string*) const { return "a text"; }
  std::string operator()(const std::vector<std::string>*) const { return "a list of texts"; }
  std::string operator()(const SpanField&) const { return "a length such as \"5000 steps\" or \"100 epochs\""; }
  std::string operator()(const OldCount&) const { return "a whole number"; }
  std::string operator()(const std::vector<int64_t>*) const { return "a whole number or a list of them"; }
  std::string operator()(const WordOrNumbers& field) const {
    return joined(field.words, ", ") + " or a list of numbers";
  }
};

bool put(const Choice& choice, const std::string& text) {
  if (std::find(choice.names.begin(), choice.names.end(), text) == choice.names.end()) return false;
  choice.put(text);
  return true;
}

// Each gives false when the text is not of the field's kind.
struct FromText {
  std::string_view text;

  template <class Number>
  bool number(Number& field) const {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return false;
    if constexpr (std::is_floating_point_v<Number>) {
      if (!std::isfinite(value)) return false;
    }
    field = value;
    return true;
  }
  bool operator()(int64_t* field) const { return number(*field); }
  bool operator()(double* field) const { return number(*field); }
  bool operator()(bool* field) const {
    if (text != "true" && text != "false") return false;
    *field = text == "true";
    return true;
  }
  bool operator()(std::string* field) const {
    *field = text;
    return true;
  }
  bool operator()(std::vector<std::string>* field) const {
    *field = split_at_commas(text);
    return true;
  }
  bool operator()(const Choice& field) const { return put(field, std::string(text)); }
  bool operator()(const SpanField& field) const {
    const auto span = parse_span(text, field.bare);
    if (span) *field.span = *span;
    return span.has_value();
  }
  bool operator()(const WordOrNumbers& field) const {
    std::vector<double> numbers;
    if (std::ranges::find(field.words, text) == field.words.end()) {
      for (const std::string& part : split_at_commas(text)) {
        if (!FromText{part}(&numbers.emplace_back())) return false;
      }
      if (numbers.empty()) return false;
    }
    *field.word = numbers.empty() ? std::string(text) : "";
    *field.numbers = std::move(numbers);
    return true;
  }
  bool operator()(std::vector<int64_t>* field) const {
    std::vector<int64_t> numbers;
    for (const std::string& part : split_at_commas(text)) {
      if (!FromText{part}.number(numbers.emplace_back())) return false;
    }
    if (numbers.empty() || text.ends_with(',')) return false;
    *field = std::move(numbers);
    return true;
  }
  bool operator()(const OldCount& field) const {
    int64_t count = 0;
    return number(count) && (*field.span = {count, field.unit}, true);
  }
};

struct FromToml {
  const toml::node& node;

  bool operator()(int64_t* field) const { return node.is_integer() && (*field = node.ref<int64_t>(), true); }
  bool operator()(double* field) const {
    if (!node.is_number()) return false;
    const double value = *node.value<double>();
    return std::isfinite(value) && (*field = value, true);
  }
  bool operator()(bool* field) const { return node.is_boolean() && (*field = node.ref<bool>(), true); }
  bool operator()(std::string* field) const { return node.is_string() && (*field = node.ref<std::string>(), true); }
  bool operator()(const Choice& field) const { return node.is_string() && put(field, node.ref<std::string>()); }
  bool operator()(const SpanField& field) const {
    if (node.is_integer()) return *field.span = {node.ref<int64_t>(), field.bare}, true;
    return node.is_string() && FromText{node.ref<std::string>()}(field);
  }
  bool operator()(const WordOrNumbers& field) const {
    if (node.is_string()) return FromText{node.ref<std::string>()}(field);
    const toml::array* array = node.as_array();
    if (!array || array->empty()) return false;
    std::vector<double> numbers;
    for (const toml::node& element : *array) {
      if (!FromToml{element}(&numbers.emplace_back())) return false;
    }
    field.word->clear();
    *field.numbers = std::move(numbers);
    return true;
  }
  bool operator()(const OldCount& field) const {
    return node.is_integer() && (*field.span = {node.ref<int64_t>(), field.unit}, true);
  }
  bool operator()(std::vector<int64_t>* field) const {
    if (node.is_integer()) return *field = {node.ref<int64_t>()}, true;
    const toml::array* array = node.as_array();
    if (!array || array->empty() || !array->is_homogeneous(toml::node_type::integer)) return false;
    field->clear();
    for (const toml::node& element : *array) field->push_back(element.ref<int64_t>());
    return true;
  }
  bool operator()(std::vector<std::string>* field) const {
    const toml::array* array = node.as_array();
    if (!array || !array->is_homogeneous(toml::node_type::string))
      return array && array->empty() && (field->clear(), true);
    field->clear();
    for (const toml::node& element : *array) field->push_back(element.ref<std::string>());
    return true;
  }
};

std::string quoted_toml(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

struct ToToml {
  std::string operator()(const int64_t* field) const { return std::to_string(*field); }
  std::string operator()(const double* field) const {
    char text[64];
    const auto [end, error] = std::to_chars(text, text + sizeof text, *field);
    const std::string shortest(text, end);
    return shortest.find_first_of(".e") == std::string::npos ? shortest + ".0" : shortest;
  }
  std::string operator()(const bool* field) const { return *field ? "true" : "false"; }
  std::string operator()(const std::string* field) const { return quoted_toml(*field); }
  std::string operator()(const Choice& field) const { return quoted_toml(field.get()); }
  std::string operator()(const SpanField& field) const { return quoted_toml(to_text(*field.span)); }
  std::string operator()(const OldCount& field) const { return std::to_string(field.span->count); }
  std::string operator()(const std::vector<int64_t>* field) const {
    std::vector<std::string> numbers;
    for (const int64_t number : *field) numbers.push_back(std::to_string(number));
    return numbers.size() == 1 ? numbers.front() : "[" + joined(numbers, ", ") + "]";
  }
  std::string operator()(const WordOrNumbers& field) const {
    if (!field.word->empty()) return quoted_toml(*field.word);
    std::vector<std::string> numbers;
    for (const double& number : *field.numbers) numbers.push_back((*this)(&number));
    return "[" + joined(numbers, ", ") + "]";
  }
  std::string operator()(const std::vector<std::string>* field) const {
    std::vector<std::string> quoted;
    std::transform(field->begin(), field->end(), std::back_inserter(quoted), quoted_toml);
    return "[" + joined(quoted, ", ") + "]";
  }
};

}  // namespace

std::string kind_name(const SettingField& field) { return std::visit(KindName(), field); }

bool put_text(std::string_view text, const SettingField& field) { return std::visit(FromText{text}, field); }

bool put_toml(const toml::node& node, const SettingField& field) { return std::visit(FromToml{node}, field); }

std::string as_toml(const SettingField& field) { return std::visit(ToToml(), field); }

}  // namespace primal::base
