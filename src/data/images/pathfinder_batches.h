// Many Pathfinder pictures, made by several threads and given out in order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/images/pathfinder_options.h"

namespace primal::data {

/// Of long work: how much is done, of how much.
using PathfinderProgress = std::function<void(int64_t done, int64_t of)>;

struct PathfinderOrder {
  PathfinderOptions options{};
  uint64_t seed = 0;
  int64_t count = 200'000;  ///< pictures, as many as the Long Range Arena has
  int64_t threads = 1;      ///< the pictures do not depend on it
  PathfinderProgress progress{};
  std::function<bool()> stop{};  ///< asked before every picture, by all threads
};

/// As many pictures are made, checked and written at a time.
inline constexpr int64_t kPathfinderBatch = 1000;

struct PathfinderBatch {
  int64_t number = 0;              ///< its first picture is number * kPathfinderBatch
  std::vector<uint8_t> labels{};   ///< of kPathfinderClasses
  std::vector<int64_t> margins{};  ///< of the dashes
  std::vector<uint8_t> pixels{};   ///< [pictures, size, size]
};

/// Calls take() with one batch after another, and progress(), both in the calling thread. False if it was interrupted:
/// then the last batches are missing. Throws primal::Error, "pathfinder: ...", for an order that cannot be done.
bool make_pathfinder_batches(const PathfinderOrder& order, const std::function<void(const PathfinderBatch&)>& take);

}  // namespace primal::data
