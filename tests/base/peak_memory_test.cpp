#include "base/peak_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace primal::base {
namespace {

constexpr std::size_t kBlock = 64U << 20;

/// Uses kBlock bytes for a moment. Not with new: an allocator may keep what is freed.
void touch_memory() {
  void* block = ::mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  std::memset(block, 1, kBlock);
  ::munmap(block, kBlock);
}

TEST(PeakMemory, RemembersWhatWasFreed) {
  const std::int64_t before = peak_memory();
  EXPECT_GT(before, 1 << 20);
  touch_memory();
  EXPECT_GE(peak_memory(), before);
  EXPECT_GE(peak_memory(), static_cast<std::int64_t>(kBlock));
}

TEST(PeakMemory, StartsAnewAfterAReset) {
  touch_memory();
  const std::int64_t before = peak_memory();
  if (!reset_peak_memory()) GTEST_SKIP() << "the system cannot reset it";
  EXPECT_LT(peak_memory(), before);
}

}  // namespace
}  // namespace primal::base
