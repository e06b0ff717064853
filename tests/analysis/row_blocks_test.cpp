#include "analysis/row_blocks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>

#include "support/kernel_tables.h"
#include "support/tensors.h"
#include "support/threads.h"

namespace primal::analysis {
namespace {

using tests::close;
using tests::random_table;
using tests::same;

TEST(RowBlocks, CoverEveryRowOnce) {
  for (const int64_t rows : {1, 9, 10, 11, 1000}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(rows));
    for_blocks(rows, 10, [&](int64_t first, int64_t count) {
      EXPECT_LE(count, 10);
      for (int64_t i = first; i < first + count; ++i) ++seen[static_cast<size_t>(i)];
    });
    for (const auto& times : seen) EXPECT_EQ(times, 1);
  }
}

TEST(RowBlocks, SumsHaveTheSameBitsWithAnyNumberOfThreads) {
  const tests::ThreadsGuard guard;
  const at::Tensor table = random_table(5001, 7, 1).to(at::kFloat);
  const auto sum = [&](int threads) {
    at::set_num_threads(threads);
    return sum_blocks(table.size(0), 64, 49, [&](int64_t first, int64_t count) {
      const at::Tensor block = table.narrow(0, first, count);
      return at::mm(block.t(), block);
    });
  };
  const at::Tensor one = sum(1);
  EXPECT_EQ(one.scalar_type(), at::kDouble);
  EXPECT_TRUE(close(one, at::mm(table.to(at::kDouble).t(), table.to(at::kDouble)), 1e-5));
  EXPECT_TRUE(same(sum(2), one));
  EXPECT_TRUE(same(sum(3), one));
}

TEST(RowBlocks, StandardiseByMeanAndDeviation) {
  const at::Tensor table = random_table(5000, 3, 2) * at::tensor({1.0, 10.0, 0.0}, at::kDouble) + 7;
  Rows rows{.values = table, .mean = {}, .factor = {}};
  standardise(rows, table);
  const at::Tensor block = rows.block(0, 5000, at::kDouble);
  EXPECT_TRUE(close(block.mean(0), at::zeros({3}, at::kDouble), 1e-12));
  EXPECT_TRUE(close(block.square().mean(0), at::tensor({1.0, 1.0, 0.0}, at::kDouble), 1e-12)) << "a constant becomes 0";
}

TEST(RowBlocks, AreViewsWhereNothingIsDone) {
  const at::Tensor table = random_table(10, 3, 3);
  const Rows rows{.values = table, .mean = {}, .factor = {}};
  EXPECT_EQ(rows.block(4, 2, at::kDouble).data_ptr(), table[4].data_ptr());
  EXPECT_EQ(rows.block(4, 2, at::kFloat).scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace primal::analysis
