// Tables of numbers as blocks of rows, worked on in parallel: of a table that is a mapped file, memory holds a few
// blocks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace primal::analysis {

/// Rows of a table, and what is done to them before anyone looks: (x - mean) * factor.
struct Rows {
  at::Tensor values;        // [n, d], any real dtype, on the CPU
  at::Tensor mean, factor;  // [d] float64; undefined: rows as they are

  int64_t count() const { return values.size(0); }
  int64_t width() const { return values.size(1); }
  /// [count, d]; a view of the table where nothing is to be done.
  at::Tensor block(int64_t first, int64_t count, at::ScalarType dtype) const;
};

/// Gives them the mean and the inverse deviation of the columns of `table`; a column that does not vary becomes 0.
void standardise(Rows& rows, const at::Tensor& table);

/// Rows of a block of which each makes `width` numbers: it stays in a cache, and products with it are not too small.
int64_t rows_per_block(int64_t width);

/// Calls work with one thread, whose results are the same on every number of cores.
void on_one_thread(const std::function<void()>& work);

/// work(first, count) for blocks of `size` rows, in parallel; the operators called there run on one thread.
void for_blocks(int64_t rows, int64_t size, const std::function<void(int64_t first, int64_t count)>& work);

/// One value made of all rows, in float64. A block is added to a state that starts undefined, and states are merged.
struct Reduction {
  std::function<void(at::Tensor& state, int64_t first, int64_t count)> add;
  std::function<void(at::Tensor& state, const at::Tensor& other)> merge;
  int64_t numbers = 1;  ///< of a state
};

/// The order does not depend on the number of threads, nor do the bits.
at::Tensor reduce_blocks(int64_t rows, int64_t size, const Reduction& reduction);

/// The sum of term(first, count) over the blocks.
at::Tensor sum_blocks(int64_t rows, int64_t size, int64_t numbers,
                      const std::function<at::Tensor(int64_t first, int64_t count)>& term);

}  // namespace primal::analysis
