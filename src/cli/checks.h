// What values of flags are checked for.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace primal::cli {

/// "--seed: expected a whole number, at least 0, got -1"
inline CLI::Validator at_least(int64_t lowest) {
  const auto check = [lowest](const std::string& text) -> std::string {
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure == std::errc() && stop == end && value >= lowest) return "";
    return "expected a whole number, at least " + std::to_string(lowest) + ", got " + text;
  };
  return {check, ""};
}

}  // namespace primal::cli
