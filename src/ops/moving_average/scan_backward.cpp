#include <algorithm>

#include "kernels/cpu_target.h"
#include "ops/moving_average/scan.h"
#include "ops/moving_average/scan_parts.h"

namespace primal::ops {

namespace {

/// One backward pass. The sums of the forward pass run through each chunk once more, then their gradient runs back.
template <typename T>
class ScanBackward {
 public:
  ScanBackward(const MovingAverageArguments& a, const at::Tensor& out_gradient)
      : a_(a),
        c_(a),
        cut_(a),
        state_(a.state ? a.state->contiguous() : at::Tensor()),
        dense_x_(a.x.contiguous()),
        dense_gradient_(out_gradient.to(a.x.scalar_type()).contiguous()),
        x_(cut_, dense_x_),
        gradient_(cut_, dense_gradient_),
        sums_(cut_, c_.layout),
        later_(cut_, c_.layout),
        decay_(cut_, c_.layout),
        weight_(cut_, c_.layout),
        skip_(cut_, {1, 1, cut_.width()}) {}

  MovingAverageGradients run() {
    MovingAverageGradients result;
    result.x = recycled_tensor(dense_x_.sizes(), dense_x_.scalar_type());
    if (a_.state) result.state = at::empty(a_.state->sizes(), a_.state->options());
    const ScanTokens<T> x_gradient(cut_, result.x);
    for_each_chunk_of_pieces(
        cut_, [&](const ScanPiece& piece, int64_t chunk) { sum_up(piece, chunk); },
        [&](const ScanPiece& piece) { carry(piece, result.state); },
        [&](const ScanPiece& piece, int64_t chunk) { backward(piece, chunk, x_gradient); });
    add_up(result);
    return result;
  }

 private:
  int64_t directions() const { return c_.layout.directions; }
  int64_t numbers(const ScanPiece& piece) const { return c_.layout.scales * piece.channels; }

  void sum_up(const ScanPiece& piece, int64_t chunk) const {
    const ChunkRows rows(cut_, piece, chunk, x_.stride(piece));
    auto& space = ScanSpace<T>::of_thread();
    const T* x = x_.read(piece, chunk, space.x);
    const T* gradient = gradient_.read(piece, chunk, space.gradient);
    for (int64_t r = 0; r < directions(); ++r) {
      T* own = space.zeros(numbers(piece), space.own);
      kernels::fading_sums(x, rows.in_order(r), c_.scales(r, piece), own);
      std::copy_n(own, numbers(piece), sums_.at(r, piece, chunk));
      own = space.zeros(numbers(piece), space.own);
      kernels::fading_sums(gradient, rows.in_order(1 - r), c_.scales(r, piece), own);
      std::copy_n(own, numbers(piece), later_.at(r, piece, chunk));
    }
  }

  void carry(const ScanPiece& piece, const at::Tensor& state_gradient) const {
    for (int64_t r = 0; r < directions(); ++r) {
      std::vector<double> before = state_of(state_, piece, c_.layout.scales);
      carry_over(cut_, c_, r, /*from_the_end=*/r == 1, piece, sums_, before);
      std::vector<double> later(before.size());
      carry_over(cut_, c_, r, /*from_the_end=*/r == 0, piece, later_, later);
      if (!state_gradient.defined()) continue;
      const auto from = static_cast<size_t>(c_.layout.at(r, piece));
      for (size_t i = 0; i < later.size(); ++i) {
        later[i] *= std::exp(-c_.rate[from + i]) * static_cast<double>(c_.weight[from + i]);
      }
      set_state(later, piece, state_gradient);
    }
  }

  void backward(const ScanPiece& piece, int64_t chunk, const ScanTokens<T>& x_gradient) const {
    const ChunkRows rows(cut_, piece, chunk, x_.stride(piece));
    auto& space = ScanSpace<T>::of_thread();
    const T* x = x_.read(piece, chunk, space.x);
    const T* gradient = gradient_.read(piece, chunk, space.gradient);
    T* result = x_gradient.take(piece, chunk, space.y);
    T* skip = skip_.at(0, piece, chunk);
    std::fill_n(skip, piece.channels, T{0});
    space.scratch.resize(static_cast<size_t>(kernels::moving_average_backward_space(rows.in_order(0))));
    for (int64_t r = 0; r < directions(); ++r) {
      const T* before = space.rounded(sums_.at(r, piece, chunk), numbers(piece), space.running);
      const T* after = space.rounded(later_.at(r, piece, chunk), numbers(piece), space.after);
      T* decay = decay_.at(r, piece, chunk);
      T* weight = weight_.at(r, piece, chunk);
      std::fill_n(decay, numbers(piece), T{0});
      std::fill_n(weight, numbers(piece), T{0});
      kernels::moving_average_backward(x, gradient, rows.in_order(r), c_.scales(r, piece), c_.skip_of(piece),
                                       /*add=*/r > 0, before, after, result, {decay, weight, skip},
                                       space.scratch.data());
    }
    x_gradient.finish(piece, chunk, result);
  }

  // The sums over all chunks of all sequences, one after another. In the order in which they are stored.
  std::vector<double> totals(const ChunkNumbers<T>& of_chunks, int64_t size) const {
    std::vector<double> sums(static_cast<size_t>(size));
    constexpr int64_t kNumbers = 512;
    parallel_for(0, (size + kNumbers - 1) / kNumbers, 1, [&](int64_t begin, int64_t end) {
      const int64_t to = std::min(size, end * kNumbers);
      for (int64_t row = 0; row < cut_.batch() * cut_.chunks(); ++row) {
        const T* numbers = of_chunks.row(row);
        for (int64_t i = begin * kNumbers; i < to; ++i) sums[static_cast<size_t>(i)] += static_cast<double>(numbers[i]);
      }
    });
    return sums;
  }

  // [R, S, D] out of what is stored piece by piece.
  at::Tensor unpacked(const std::vector<double>& packed) const {
    const ScaleLayout& layout = c_.layout;
    at::Tensor result = at::empty({layout.directions, layout.scales, layout.width}, at::kDouble);
    for (int64_t channel = 0; channel < layout.width; channel += ScanPiece::kChannels) {
      const ScanPiece piece{0, channel, std::min(ScanPiece::kChannels, layout.width - channel)};
      for (int64_t row = 0; row < layout.directions * layout.scales; ++row) {
        const int64_t from = layout.at(row / layout.scales, piece) + row % layout.scales * piece.channels;
        std::copy_n(packed.begin() + from, piece.channels,
                    result.mutable_data_ptr<double>() + row * layout.width + channel);
      }
    }
    return result;
  }

  void add_up(MovingAverageGradients& result) const {
    const int64_t width = cut_.width(), groups = a_.log_scale.size(2);
    std::vector<double> log_scale = totals(decay_, c_.layout.size());
    for (size_t i = 0; i < log_scale.size(); ++i) {
      // da / d log_scale = a rate: 0 for a = 0, where the rate is infinite.
      const double slope = std::isinf(c_.rate[i]) ? 0 : std::exp(-c_.rate[i]) * c_.rate[i];
      log_scale[i] *= slope * static_cast<double>(c_.weight[i]);
    }
    result.weight = unpacked(totals(weight_, c_.layout.size())).to(a_.weight.scalar_type());
    result.log_scale = unpacked(log_scale)
                           .view({directions(), c_.layout.scales, groups, groups == 0 ? 0 : width / groups})
                           .sum(3)
                           .to(a_.log_scale.scalar_type());
    if (a_.skip) result.skip = at::tensor(totals(skip_, width), at::kDouble).to(a_.skip->scalar_type());
  }

  const MovingAverageArguments& a_;
  Coefficients<T> c_;
  ScanCut cut_;
  at::Tensor state_, dense_x_, dense_gradient_;
  ScanTokens<T> x_, gradient_;
  ChunkNumbers<double> sums_;              // before each chunk
  ChunkNumbers<double> later_;             // the gradient of the sums after each chunk
  ChunkNumbers<T> decay_, weight_, skip_;  // gradients, of each chunk
};

}  // namespace

MovingAverageGradients moving_average_gradients_on_cpu(const MovingAverageArguments& a,
                                                       const at::Tensor& out_gradient) {
  kernels::use_cpu_target_of_environment();
  return a.x.scalar_type() == at::kDouble ? ScanBackward<double>(a, out_gradient).run()
                                          : ScanBackward<float>(a, out_gradient).run();
}

}  // namespace primal::ops
