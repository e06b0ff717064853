// Enumerators and their names in settings files.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "primal/error.h"

namespace primal::base {

template <typename Enum, size_t kSize>
using Names = std::array<std::pair<std::string_view, Enum>, kSize>;

/// The enumerator of a name. `what` begins the message of the Error for an unknown one, which lists all names.
template <typename Enum, size_t kSize>
Enum named(const Names<Enum, kSize>& names, std::string_view what, std::string_view name) {
  std::string all;
  for (const auto& [known, value] : names) {
    if (known == name) return value;
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  throw Error(std::string(what) + " \"" + std::string(name) + "\" is unknown, expected one of " + all);
}

template <typename Enum, size_t kSize>
std::string_view name_in(const Names<Enum, kSize>& names, Enum value) {
  for (const auto& [name, known] : names) {
    if (known == value) return name;
  }
  return "?";
}

}  // namespace primal::base
