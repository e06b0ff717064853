// Work space of a tile. Each thread keeps its own and uses it again for the next tile and the next call: memory from
// the heap would be given back to the system and cleared by it again every time.
#pragma once

#include <cstdint>
#include <vector>

namespace primal::ops::fused {

/// The pieces that one function takes for a tile; they live until it is destroyed. Nested ones stack up.
class TileSpace {
 public:
  TileSpace();
  ~TileSpace();
  TileSpace(const TileSpace&) = delete;
  TileSpace& operator=(const TileSpace&) = delete;

  /// tokens x width numbers without values, on a 64-byte boundary.
  float* take(int64_t tokens, int64_t width);

 private:
  size_t used_before_;
};

}  // namespace primal::ops::fused
