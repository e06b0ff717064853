// How a pass is cut: tiles of tokens that stay in cache, and chunks of tiles whose intermediates stay in work space.
//
// Sequences lie one after another; a tile may hold the end of one and the beginning of the next. Neither cut depends on
// the number of threads, so no sum does.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace primal::ops::fused {

/// A range of tokens of all sequences together.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Tokens per tile: 48 at width 512 (q and k of a tile take 200 KiB), at most 192. A multiple of every register block.
inline int64_t tile_tokens(int64_t width) {
  return std::clamp<int64_t>(24576 / std::max<int64_t>(1, width) / 12 * 12, 24, 192);
}

/// Tokens per chunk: about 2 MiB per `width` numbers a token. Four tiles or a multiple, so that threads share evenly.
inline int64_t chunk_tokens(int64_t width) {
  const int64_t four_tiles = 4 * tile_tokens(width);
  return std::max<int64_t>(1, (int64_t{1} << 19) / std::max<int64_t>(1, width) / four_tiles) * four_tiles;
}

/// Work space of a tile, without values.
inline std::unique_ptr<float[]> tile_space(int64_t tokens, int64_t width) {
  return std::make_unique_for_overwrite<float[]>(static_cast<size_t>(tokens * width));
}

/// body(range, index of the tile counted from token 0), in parallel.
template <typename Body>
void for_each_tile(Range range, int64_t tile, const Body& body) {
  const int64_t first = range.begin / tile, count = (range.size() + tile - 1) / tile;
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t start = range.begin + i * tile;
      body(Range{start, std::min(start + tile, range.end)}, first + i);
    }
  });
}

/// body(chunk) one after another.
template <typename Body>
void for_each_chunk(int64_t tokens, int64_t chunk, const Body& body) {
  for (int64_t begin = 0; begin < tokens; begin += chunk) body(Range{begin, std::min(begin + chunk, tokens)});
}

/// body(part, sample): the parts of a range that belong to one sequence each.
template <typename Body>
void for_each_sample(Range range, int64_t length, const Body& body) {
  for (int64_t begin = range.begin; begin < range.end;) {
    const int64_t sample = begin / length, end = std::min(range.end, (sample + 1) * length);
    body(Range{begin, end}, sample);
    begin = end;
  }
}

}  // namespace primal::ops::fused
