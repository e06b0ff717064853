#include "base/in_parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "support/errors.h"

namespace {

using primal::base::in_parallel;

TEST(InParallel, EveryPieceIsDoneOnce) {
  for (const int64_t threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> done(100);
    in_parallel(100, threads, [&](int64_t i) { ++done[static_cast<std::size_t>(i)]; });
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
  in_parallel(0, 4, [](int64_t) { FAIL() << "there is nothing to do"; });
}

TEST(InParallel, TheFirstErrorInOrderIsThrown) {
  const auto work = [](int64_t i) {
    if (i >= 3) throw primal::Error("piece " + std::to_string(i));
  };
  for (const int64_t threads : {1, 2, 8}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      EXPECT_EQ(primal::tests::error_of([&] { in_parallel(50, threads, work); }), "piece 3");
    }
  }
}

}  // namespace
