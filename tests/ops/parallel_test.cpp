#include "ops/parallel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

#include "support/threads.h"

namespace primal::ops {
namespace {

// ThreadSanitizer must see that the region begins after what precedes it and ends before what follows it.
TEST(ParallelFor, ReadsWhatWasWrittenBeforeAndLeavesWhatIsReadAfter) {
  const tests::ThreadsGuard guard;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    for (const int64_t count : {0, 1, 5, 1000}) {
      std::vector<int64_t> in(static_cast<size_t>(count)), out(in.size(), -1);
      for (int round = 0; round < 20; ++round) {
        std::iota(in.begin(), in.end(), round);
        parallel_for(0, count, 10, [&](int64_t begin, int64_t end) {
          for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) out[i] = in[i];
        });
        ASSERT_EQ(out, in) << threads << " threads";
      }
    }
  }
}

TEST(ParallelFor, HandsErrorsOn) {
  EXPECT_THROW(parallel_for(0, 100, 1, [](int64_t, int64_t) { throw std::runtime_error("from a thread"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace primal::ops
