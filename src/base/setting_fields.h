// The kinds of fields that settings are bound to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/names.h"
#include "base/span.h"

namespace primal::base {

/// A field of an enumeration, by the names of its values.
struct Choice {
  std::vector<std::string> names;
  std::function<std::string()> get;
  std::function<void(const std::string&)> put;  ///< gets one of the names
};

template <class Enum, size_t kSize>
Choice choice(Enum& field, const Names<Enum, kSize>& values) {
  Choice result;
  for (const auto& [name, value] : values) result.names.emplace_back(name);
  result.get = [&field, values] {
    for (const auto& [name, value] : values) {
      if (value == field) return std::string(name);
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

/// The same with the names in place.
template <class Enum, size_t kSize>
Choice choice(Enum& field, const std::pair<std::string_view, Enum> (&values)[kSize]) {
  Names<Enum, kSize> names;
  std::copy(std::begin(values), std::end(values), names.begin());
  return choice(field, names);
}

/// A stretch of training; `bare`: what a number without a unit counts.
struct SpanField {
  Span* span;
  SpanUnit bare;
};

/// The old name of a stretch: a number alone.
struct OldCount {
  Span* span;
  SpanUnit unit;
};

/// One of some words, or a list of numbers; then the word is empty.
struct WordOrNumbers {
  std::vector<std::string> words;
  std::string* word;
  std::vector<double>* numbers;
};

using SettingField = std::variant<int64_t*, double*, bool*, std::string*, std::vector<std::string>*, Choice, SpanField,
                                  OldCount, WordOrNumbers, std::vector<int64_t>*>;

}  // namespace primal::base
