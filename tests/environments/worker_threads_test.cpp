#include "environments/worker_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "support/errors.h"

namespace {

using primal::environments::WorkerThreads;

TEST(WorkerThreads, EveryPieceOfEveryPortionIsDoneOnce) {
  for (const int64_t count : {1, 2, 7}) {
    WorkerThreads threads(count);
    std::vector<std::atomic<int>> done(20);
    for (int portion = 0; portion < 500; ++portion) {
      threads.run(portion % 21, [&](int64_t i) { ++done[static_cast<std::size_t>(i)]; });
    }
    // Portions of 0 to 20 pieces, 23 rounds of them and then 0 to 16.
    for (int i = 0; i < 20; ++i) EXPECT_EQ(done[i], 23 * (20 - i) + std::max(0, 16 - i)) << i;
  }
}

TEST(WorkerThreads, TheFirstErrorInOrderIsThrownAndTheNextPortionIsDone) {
  const auto work = [](int64_t i) {
    if (i >= 3) throw primal::Error("piece " + std::to_string(i));
  };
  for (const int64_t count : {1, 2, 8}) {
    WorkerThreads threads(count);
    for (int repeat = 0; repeat < 50; ++repeat) {
      EXPECT_EQ(primal::tests::error_of([&] { threads.run(50, work); }), "piece 3");
      std::atomic<int> done = 0;
      threads.run(5, [&](int64_t) { ++done; });
      EXPECT_EQ(done, 5);
    }
  }
}

}  // namespace
