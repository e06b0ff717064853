#include "ops/moving_average/scan.h"

#include "kernels/cpu_target.h"
#include "ops/moving_average/scan_parts.h"

namespace primal::ops {

namespace {

// One direction with enough sequences and channels for all threads: one pass over the memory, sums carried along.
template <typename T>
void scan_in_one_pass(const ScanCut& cut, const Coefficients<T>& c, const at::Tensor& state_before,
                      const ScanTokens<T>& x, const ScanTokens<T>& y, const at::Tensor& state_after) {
  parallel_for(0, cut.pieces(), 1, [&](int64_t begin, int64_t end) {
    auto& space = ScanSpace<T>::of_thread();
    for (int64_t index = begin; index < end; ++index) {
      const ScanPiece piece = cut.piece(index);
      std::vector<double> sums = state_of(state_before, piece, c.layout.scales);
      for (int64_t chunk = 0; chunk < cut.chunks(); ++chunk) {
        const ChunkRows rows(cut, piece, chunk, x.stride(piece));
        T* running = space.rounded(sums.data(), std::ssize(sums), space.running);
        T* own = space.zeros(std::ssize(sums), space.own);
        T* out = y.take(piece, chunk, space.y);
        kernels::moving_average(x.read(piece, chunk, space.x), rows.in_order(0), c.scales(0, piece), c.skip_of(piece),
                                y.output(), running, own, out);
        c.carry(0, piece, rows.count(), own, sums.data());
        y.finish(piece, chunk, out);
      }
      set_state(sums, piece, state_after);
    }
  });
}

// Two directions, or few and long sequences: the sums of every chunk first, then the chunks in any order.
template <typename T>
void scan_by_chunks(const ScanCut& cut, const Coefficients<T>& c, const at::Tensor& state_before,
                    const ScanTokens<T>& x, const ScanTokens<T>& y, const at::Tensor& state_after) {
  const int64_t directions = c.layout.directions;
  const ChunkNumbers<double> sums(cut, c.layout);
  const auto sum_up = [&](const ScanPiece& piece, int64_t chunk) {
    const ChunkRows rows(cut, piece, chunk, x.stride(piece));
    auto& space = ScanSpace<T>::of_thread();
    const T* tokens = x.read(piece, chunk, space.x);
    const int64_t numbers = c.layout.scales * piece.channels;
    for (int64_t r = 0; r < directions; ++r) {
      T* own = space.zeros(numbers, space.own);
      kernels::fading_sums(tokens, rows.in_order(r), c.scales(r, piece), own);
      std::copy_n(own, numbers, sums.at(r, piece, chunk));
    }
  };
  const auto carry = [&](const ScanPiece& piece) {
    for (int64_t r = 0; r < directions; ++r) {
      std::vector<double> before = state_of(state_before, piece, c.layout.scales);
      carry_over(cut, c, r, /*from_the_end=*/r == 1, piece, sums, before);
      if (directions == 1) set_state(before, piece, state_after);
    }
  };
  const auto scan = [&](const ScanPiece& piece, int64_t chunk) {
    const ChunkRows rows(cut, piece, chunk, x.stride(piece));
    auto& space = ScanSpace<T>::of_thread();
    const T* tokens = x.read(piece, chunk, space.x);
    T* out = y.take(piece, chunk, space.y);
    for (int64_t r = 0; r < directions; ++r) {
      T* running = space.rounded(sums.at(r, piece, chunk), c.layout.scales * piece.channels, space.running);
      kernels::moving_average(tokens, rows.in_order(r), c.scales(r, piece), c.skip_of(piece),
                              r > 0 ? kernels::AverageOutput::add : kernels::AverageOutput::begin, running, nullptr,
                              out);
    }
    y.finish(piece, chunk, out);
  };
  for_each_chunk_of_pieces(cut, sum_up, carry, scan);
}

template <typename T>
MovingAverage scan(const MovingAverageArguments& a) {
  const at::Tensor x = a.x.contiguous();
  const at::Tensor before = a.state ? a.state->contiguous() : at::Tensor();
  const ScanCut cut(a);
  const Coefficients<T> coefficients(a);
  const bool one_way = a.directions() == 1;
  MovingAverage result{recycled_tensor(x.sizes(), x.scalar_type()),
                       at::zeros({a.batch(), one_way ? a.scales() : 0, a.width()}, x.options().dtype(at::kDouble))};
  const ScanTokens<T> in(cut, x), out(cut, result.out);
  const auto run = one_way && cut.pieces() >= at::get_num_threads() ? scan_in_one_pass<T> : scan_by_chunks<T>;
  run(cut, coefficients, before, in, out, result.state);
  return result;
}

}  // namespace

MovingAverage moving_average_on_cpu(const MovingAverageArguments& a) {
  kernels::use_cpu_target_of_environment();
  return a.x.scalar_type() == at::kDouble ? scan<double>(a) : scan<float>(a);
}

}  // namespace primal::ops
