// Logged episodes of a robot: what it saw, did and earned, step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primal::data {

struct Episode {
  int64_t begin = 0, end = 0;  ///< rows
  bool terminated = false;     ///< the robot fell; else the time was up
  int64_t size() const { return end - begin; }
};

struct Trajectories {
  int64_t state_size = 0, action_size = 0;
  std::vector<float> states;   ///< [rows, state_size], before the action
  std::vector<float> actions;  ///< [rows, action_size]
  std::vector<float> rewards;  ///< [rows]
  std::vector<Episode> episodes;
  /// Rows that belong to no finished episode, at the end of a file most often: they are not in the arrays.
  int64_t unfinished = 0;
  /// How the set was made: of files that primal wrote, else null.
  nlohmann::json made;

  int64_t rows() const { return static_cast<int64_t>(rewards.size()); }
  double episode_return(const Episode& episode) const;  ///< sum of its rewards
};

/// Whether primal was built with HDF5.
bool has_hdf5();

/// A file in D4RL's or Minari's layout, which is found out. Throws Error that names file, data set and value if it is
/// no such file, is cut off, has NaN, infinite numbers, sizes that do not fit together, or no finished episode.
Trajectories read_trajectories(const std::filesystem::path& file);
/// The same of a file in memory; `name` is for messages.
Trajectories parse_trajectories(std::span<const std::byte> bytes, std::string_view name);

/// Appears complete or not at all. `made` becomes metadata, and its field "algorithm" D4RL's metadata/algorithm.
/// `next_states` [rows, state_size] are the states after each action, terminal ones too; it may be empty. Throws Error
/// for trajectories that could not be read back.
void write_d4rl(const std::filesystem::path& file, const Trajectories& trajectories,
                const std::vector<float>& next_states);
/// The same in Minari's layout (main_data.hdf5): its episodes have one observation more than steps, so next_states is
/// needed.
void write_minari(const std::filesystem::path& file, const Trajectories& trajectories,
                  const std::vector<float>& next_states);

}  // namespace primal::data
