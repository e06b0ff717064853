#include "base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace primal::base {
namespace {

/// Names come from outside: beyond this many characters they count as equal, which bounds the work.
constexpr std::size_t kLongest = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Levenshtein's distance, row by row.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char from : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(from) == lower(b[j]) ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
  name = name.substr(0, kLongest);
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::string_view other = std::string_view(candidate).substr(0, kLongest);
    const std::size_t distance = edit_distance(name, other);
    if (2 * distance > std::max(name.size(), other.size())) continue;
    if (best == nullptr || distance < best_distance) best_distance = distance, best = &candidate;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace primal::base
