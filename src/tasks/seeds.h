// A folder of several seeds: SEEDS/seed-1, SEEDS/seed-2, ... and two files that say what they are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace primal::tasks {

inline constexpr const char* kSeedsFile = "seeds.json";    ///< how many
inline constexpr const char* kSeedsConfig = "seeds.toml";  ///< their configuration, with the first seed

inline std::string seed_folder(int64_t seed) { return "seed-" + std::to_string(seed); }

inline bool holds_seeds(const std::filesystem::path& folder) { return std::filesystem::exists(folder / kSeedsFile); }

}  // namespace primal::tasks
