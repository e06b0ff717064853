// A folder of several seeds: SEEDS/seed-1, SEEDS/seed-2, ... and two files that say what they are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "primal/error.h"

namespace primal::tasks {

inline constexpr const char* kSeedsFile = "seeds.json";    ///< how many
inline constexpr const char* kSeedsConfig = "seeds.toml";  ///< their configuration, with the first seed

inline std::string seed_folder(int64_t seed) { return "seed-" + std::to_string(seed); }

/// Throws Error if the last of `count` seeds from `first` on would be too large.
inline void check_seeds(int64_t first, int64_t count) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max() - 1;
  if (count < 1) throw Error("--seeds: expected at least 1, got " + std::to_string(count));
  if (first > kLargest - count) {
    throw Error("--seeds: " + std::to_string(count) + " seeds from " + std::to_string(first) +
                " on would go beyond the largest, " + std::to_string(kLargest - 1));
  }
}

inline bool holds_seeds(const std::filesystem::path& folder) { return std::filesystem::exists(folder / kSeedsFile); }

}  // namespace primal::tasks
