// How a pass is cut: tiles of tokens that stay in cache, and chunks of tiles whose intermediates stay in work space.
//
// Sequences lie one after another; a tile may hold the end of one and the beginning of the next. Neither cut depends on
// the number of threads, so no sum does.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "ops/parallel.h"

namespace primal::ops::fused {

/// A range of tokens of all sequences together.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Tokens per tile, a multiple of every register block: at most 108 at width 512 (its input takes 216 KiB of L2) and
/// 192 at most. Every tile reads all packed weights, which are larger than L2: products of 54 rows ran at 115, of
/// 96 rows at 135 GF/s with weights from memory (AVX-512). The number of tiles is close to a multiple of four, so that
/// threads share them evenly.
inline int64_t tile_tokens(int64_t width, int64_t tokens) {
  constexpr int64_t kBlock = 12;
  const int64_t most = std::clamp<int64_t>(55296 / std::max<int64_t>(1, width), kBlock, 192);
  const int64_t least = std::min(most, most / 4 + kBlock);  // fewer are not worth another thread
  const int64_t four = 4 * std::max<int64_t>(1, (tokens + 4 * most - 1) / (4 * most));
  const int64_t tile = std::max((tokens + four - 1) / four, std::min(least, tokens));
  return std::max<int64_t>(1, (tile + kBlock - 1) / kBlock) * kBlock;
}

/// Multiplications that are worth a thread. Waking threads takes some microseconds, and many times that when other
/// programs keep the cores busy.
constexpr int64_t kWorthAThread = 1 << 19;

/// For parallel_for: the items that are worth a thread, if each takes so many multiplications.
inline int64_t items_per_thread(int64_t multiplications) {
  return std::max<int64_t>(1, kWorthAThread / std::max<int64_t>(1, multiplications));
}

/// Tokens per chunk, a multiple of four tiles. At width 64 its intermediates then take 7 MB, most of which the L2
/// caches hold until the gradients of the weights are made from them; chunks five times as large were a tenth slower
/// in the best of three noisy runs.
inline int64_t chunk_tokens(int64_t tile) { return 8 * tile; }

/// body(0) ... body(count - 1) on at most so many threads. A thread that is done takes the next one: they differ in
/// work, and cores in what else they have to do.
template <typename Body>
void for_each_in_turn(int64_t count, int64_t threads, const Body& body) {
  std::atomic<int64_t> next{0};
  parallel_for(0, std::min({count, threads, int64_t{at::get_num_threads()}}), 1, [&](int64_t, int64_t) {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(i);
  });
}

/// body(range, index of the tile counted from token 0), in parallel.
template <typename Body>
void for_each_tile(Range range, int64_t tile, const Body& body) {
  const int64_t first = range.begin / tile, count = (range.size() + tile - 1) / tile;
  for_each_in_turn(count, count, [&](int64_t i) {
    const int64_t start = range.begin + i * tile;
    body(Range{start, std::min(start + tile, range.end)}, first + i);
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
