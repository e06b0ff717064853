// What values of flags are checked for.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>

#include "primal/error.h"

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

/// That a page can be written there: known before hours of work, not after them.
inline void check_page(const std::filesystem::path& page) {
  const std::filesystem::path folder = page.has_parent_path() ? page.parent_path() : ".";
  if (std::filesystem::is_directory(page)) throw Error("--output " + page.string() + ": is a folder");
  if (!std::filesystem::is_directory(folder)) {
    throw Error("--output " + page.string() + ": no folder " + folder.string());
  }
}

}  // namespace primal::cli
