#include "train/compute_threads.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernels/flush_denormals.h"
#include "support/errors.h"
#include "support/threads.h"

namespace primal::train {
namespace {

using tests::contains;
using tests::error_of;
using tests::ThreadsGuard;

// What each thread of the pool gets for half of the smallest normal number.
std::vector<float> halves_in_the_pool() {
  std::vector<float> halves(static_cast<size_t>(at::get_num_threads()), -1.0F);
  ops::parallel_for(0, at::get_num_threads(), 1, [&](int64_t begin, int64_t) {
    volatile float smallest = std::numeric_limits<float>::min();
    volatile float half = smallest / 2;
    halves[static_cast<size_t>(begin)] = half;
  });
  return halves;
}

class ComputeThreads : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernels::set_flush_denormals(false)) GTEST_SKIP() << "not known how on this CPU";
  }
  ThreadsGuard threads_;
};

TEST_F(ComputeThreads, AreAsManyAsAskedFor) {
  for (const int threads : {1, 3, 2}) {
    set_up_compute_threads(threads);
    EXPECT_EQ(at::get_num_threads(), threads);
    // One piece of work per thread, and really on different threads: else nothing of ours runs in parallel.
    std::vector<std::thread::id> ids(static_cast<size_t>(threads));
    ops::parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ids[static_cast<size_t>(i)] = std::this_thread::get_id();
    });
    EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
  }
}

TEST_F(ComputeThreads, AllFlushDenormalNumbers) {
  for (const int threads : {1, 2, 4}) {
    set_up_compute_threads(threads);
    EXPECT_TRUE(denormals_are_flushed_everywhere());
    EXPECT_EQ(halves_in_the_pool(), std::vector<float>(static_cast<size_t>(threads), 0.0F));
  }
}

// The pool is there already, and its threads do not flush: inheriting would not be enough.
TEST_F(ComputeThreads, OfARunningPoolAreReached) {
  at::set_num_threads(3);
  ops::parallel_for(0, 3, 1, [](int64_t, int64_t) { kernels::set_flush_denormals(false); });
  EXPECT_FALSE(denormals_are_flushed_everywhere());
  EXPECT_GT(halves_in_the_pool().back(), 0.0F);
  set_up_compute_threads(3);
  EXPECT_TRUE(denormals_are_flushed_everywhere());
  EXPECT_EQ(halves_in_the_pool(), std::vector<float>(3, 0.0F));
}

TEST_F(ComputeThreads, OneThatDoesNotFlushIsNoticed) {
  set_up_compute_threads(3);
  ops::parallel_for(0, 3, 1, [](int64_t begin, int64_t) { kernels::set_flush_denormals(begin != 2); });
  EXPECT_FALSE(denormals_are_flushed_everywhere());
}

TEST_F(ComputeThreads, ThatJoinLaterInheritTheMode) {
  set_up_compute_threads(2);
  at::set_num_threads(6);
  EXPECT_TRUE(denormals_are_flushed_everywhere());
}

// LibTorch's own operators run in the same pool: element by element, and as a matrix product (MKL).
TEST_F(ComputeThreads, OfLibTorchFlushToo) {
  set_up_compute_threads(2);
  const at::Tensor small = at::full({1 << 17}, 1e-30);
  EXPECT_EQ((small * small).count_nonzero().item<int64_t>(), 0);
  const at::Tensor a = at::full({300, 300}, 1e-20F), b = at::full({300, 300}, 1e-21F);
  EXPECT_EQ(at::mm(a, b).count_nonzero().item<int64_t>(), 0);
}

TEST_F(ComputeThreads, HaveLimits) {
  EXPECT_EQ(error_of([] { set_up_compute_threads(0); }), "threads: expected 1 to 1024, got 0");
  EXPECT_EQ(error_of([] { set_up_compute_threads(int64_t{1} << 32); }), "threads: expected 1 to 1024, got 4294967296");
}

}  // namespace
}  // namespace primal::train
