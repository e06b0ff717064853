#include "analysis/row_blocks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "ops/parallel.h"

namespace primal::analysis {

namespace {

// Rows are dealt out to as many states, each in its order; fewer if they would take more memory than this.
constexpr int64_t kMostStates = 64;
constexpr int64_t kStateNumbers = int64_t{1} << 25;  // 256 MB in float64

// part(i) for all i below count, each on one thread: a single part would otherwise have all threads to itself.
void in_parts(int64_t count, const std::function<void(int64_t)>& part) {
  if (count == 1) return on_one_thread([&] { part(0); });
  ops::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) part(i);
  });
}

class OneThread {
 public:
  OneThread() { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = at::get_num_threads();
};

}  // namespace

at::Tensor Rows::block(int64_t first, int64_t size, at::ScalarType dtype) const {
  const at::Tensor rows = values.narrow(0, first, size);
  if (!mean.defined()) return rows.to(dtype);
  return rows.to(at::kDouble).sub(mean).mul_(factor).to(dtype);
}

void standardise(Rows& rows, const at::Tensor& table) {
  const int64_t count = table.size(0), width = table.size(1), size = rows_per_block(width);
  const Rows plain{.values = table, .mean = {}, .factor = {}};
  const auto columns = [&](const auto& of_block) {
    return sum_blocks(count, size, width, [&](int64_t first, int64_t block) {
      return of_block(plain.block(first, block, at::kDouble)).sum(0);
    });
  };
  const double n = static_cast<double>(count);
  rows.mean = columns([](const at::Tensor& block) { return block; }) / n;
  const at::Tensor deviation =
      (columns([&](const at::Tensor& block) { return block.sub(rows.mean).square_(); }) / n).sqrt_();
  // What rounding leaves of a constant column is not a deviation.
  const at::Tensor varies = deviation > rows.mean.abs() * 1e-14;
  rows.factor = at::where(varies, deviation.reciprocal(), at::zeros_like(deviation));
}

int64_t rows_per_block(int64_t width) {
  constexpr int64_t kNumbers = int64_t{1} << 17, kFewest = 1024, kMost = 8192;
  return std::clamp(kNumbers / std::max<int64_t>(width, 1), kFewest, kMost);
}

void on_one_thread(const std::function<void()>& work) {
  if (at::in_parallel_region() || at::get_num_threads() == 1) return work();
  const OneThread guard;
  work();
}

void for_blocks(int64_t rows, int64_t size, const std::function<void(int64_t, int64_t)>& work) {
  in_parts((rows + size - 1) / size, [&](int64_t i) { work(i * size, std::min(size, rows - i * size)); });
}

at::Tensor reduce_blocks(int64_t rows, int64_t size, const Reduction& reduction) {
  const int64_t blocks = (rows + size - 1) / size;
  const int64_t states =
      std::min(blocks, std::clamp<int64_t>(kStateNumbers / std::max<int64_t>(reduction.numbers, 1), 2, kMostStates));
  std::vector<at::Tensor> state(static_cast<size_t>(states));
  in_parts(states, [&](int64_t s) {
    for (int64_t i = s * blocks / states; i < (s + 1) * blocks / states; ++i) {
      reduction.add(state[static_cast<size_t>(s)], i * size, std::min(size, rows - i * size));
    }
  });
  for (size_t s = 1; s < state.size(); ++s) reduction.merge(state[0], state[s]);
  return state[0];
}

at::Tensor sum_blocks(int64_t rows, int64_t size, int64_t numbers,
                      const std::function<at::Tensor(int64_t, int64_t)>& term) {
  const auto add = [&](at::Tensor& sum, int64_t first, int64_t count) {
    const at::Tensor of_block = term(first, count);
    sum.defined() ? sum.add_(of_block) : sum = of_block.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  };
  const auto merge = [](at::Tensor& sum, const at::Tensor& other) { sum.add_(other); };
  return reduce_blocks(rows, size, {.add = add, .merge = merge, .numbers = numbers});
}

}  // namespace primal::analysis
