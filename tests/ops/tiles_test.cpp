#include "ops/fused/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace primal::ops::fused {
namespace {

TEST(Tiles, HoldWholeRegisterBlocksAndStayInCache) {
  for (const int64_t width : {1, 20, 64, 512, 4096, 100000}) {
    for (const int64_t tokens : {1, 11, 416, 8192, 1 << 20}) {
      const int64_t tile = tile_tokens(width, tokens);
      EXPECT_GT(tile, 0);
      EXPECT_EQ(tile % 12, 0) << width << " x " << tokens;
      EXPECT_LE(tile, 192);
      EXPECT_LE(tile, std::max<int64_t>(12, 55296 / width + 12));
    }
  }
}

TEST(Tiles, OfALargeCallAreSharedEvenly) {
  EXPECT_EQ((416 + tile_tokens(512, 416) - 1) / tile_tokens(512, 416), 4);
  EXPECT_EQ((8192 + tile_tokens(512, 8192) - 1) / tile_tokens(512, 8192) % 4, 0);
}

TEST(Tiles, OfASmallCallAreOne) {
  EXPECT_GE(tile_tokens(64, 32), 32);
  EXPECT_GE(tile_tokens(512, 30), 30);
}

TEST(Tiles, CoverEveryTokenOnce) {
  for (const Range range : {Range{0, 0}, Range{0, 1}, Range{24, 25}, Range{0, 500}, Range{96, 1000}}) {
    std::vector<int> seen(1000, 0);
    std::mutex mutex;
    for_each_tile(range, 12, [&](Range tile, int64_t index) {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(tile.begin, index * 12);
      for (int64_t t = tile.begin; t < tile.end; ++t) ++seen[static_cast<size_t>(t)];
    });
    for (int64_t t = 0; t < 1000; ++t) {
      EXPECT_EQ(seen[static_cast<size_t>(t)], t >= range.begin && t < range.end ? 1 : 0) << t;
    }
  }
}

TEST(Tiles, AThreadIsWorthMoreThanAFewMultiplications) {
  EXPECT_EQ(items_per_thread(1 << 20), 1);
  EXPECT_EQ(items_per_thread(1 << 10), 1 << 9);
  EXPECT_EQ(items_per_thread(0), 1 << 19);
}

}  // namespace
}  // namespace primal::ops::fused
