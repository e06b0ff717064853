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
  ScanBackward(const MovingAverageArguments& a, const at::Tensor& out_gradient, const at::Tensor& state_gradient)
      : a_(a),
        c_(a),
        cut_(a),
        state_(a.state ? a.state->contiguous() : at::Tensor()),
        state_gradient_(state_gradient.defined() ? state_gradient.contiguous() : state_gradient),
        dense_x_(a.x.contiguous()),
        dense_gradient_(out_gradient.to(a.x.scalar_type()).contiguous()),
        x_(cut_, dense_x_),
        gradient_(cut_, dense_gradient_),
        sums_(cut_, c_.layout),
        adjoints_(cut_, c_.layout),
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
    std::vector<T> x_space, gradient_space, own;
    const T* x = x_.read(piece, chunk, x_space);
    const T* gradient = gradient_.read(piece, chunk, gradient_space);
    for (int64_t r = 0; r < directions(); ++r) {
      own.assign(static_cast<size_t>(numbers(piece)), T{0});
      kernels::fading_sums(x, rows.in_order(r), c_.scales(r, piece), own.data());
      std::copy(own.begin(), own.end(), sums_.at(r, piece, chunk));
      std::fill(own.begin(), own.end(), T{0});
      kernels::fading_gradients(gradient, rows.in_order(1 - r), c_.scales(r, piece), own.data());
      std::copy(own.begin(), own.end(), adjoints_.at(r, piece, chunk));
    }
  }

  void carry(const ScanPiece& piece, const at::Tensor& state_gradient) const {
    for (int64_t r = 0; r < directions(); ++r) {
      std::vector<double> before = state_of(state_, piece, c_.layout.scales);
      carry_over(cut_, c_, r, /*from_the_end=*/r == 1, piece, sums_, before);
      std::vector<double> after = state_of(state_gradient_, piece, c_.layout.scales);
      carry_over(cut_, c_, r, /*from_the_end=*/r == 0, piece, adjoints_, after);
      if (state_gradient.defined()) set_state(after, piece, state_gradient);
    }
  }

  void backward(const ScanPiece& piece, int64_t chunk, const ScanTokens<T>& x_gradient) const {
    const ChunkRows rows(cut_, piece, chunk, x_.stride(piece));
    std::vector<T> x_space, gradient_space, result_space;
    const T* x = x_.read(piece, chunk, x_space);
    const T* gradient = gradient_.read(piece, chunk, gradient_space);
    T* result = x_gradient.take(piece, chunk, result_space);
    T* skip = skip_.at(0, piece, chunk);
    std::fill_n(skip, piece.channels, T{0});
    std::vector<T> space(static_cast<size_t>(kernels::moving_average_backward_space(rows.in_order(0))));
    for (int64_t r = 0; r < directions(); ++r) {
      const std::vector<T> before = rounded<T>(sums_.at(r, piece, chunk), numbers(piece));
      const std::vector<T> after = rounded<T>(adjoints_.at(r, piece, chunk), numbers(piece));
      T* decay = decay_.at(r, piece, chunk);
      T* weight = weight_.at(r, piece, chunk);
      std::fill_n(decay, numbers(piece), T{0});
      std::fill_n(weight, numbers(piece), T{0});
      kernels::moving_average_backward(x, gradient, rows.in_order(r), c_.scales(r, piece), c_.skip_of(piece),
                                       /*add=*/r > 0, before.data(), after.data(), result, {decay, weight, skip},
                                       space.data());
    }
    x_gradient.finish(piece, chunk, result);
  }

  // The sum over all chunks of all sequences, one after another.
  double total(const ChunkNumbers<T>& of_chunks, int64_t direction, ScanPiece piece, int64_t number) const {
    double sum = 0;
    for (piece.sequence = 0; piece.sequence < cut_.batch(); ++piece.sequence) {
      for (int64_t chunk = 0; chunk < cut_.chunks(); ++chunk) {
        sum += static_cast<double>(of_chunks.at(direction, piece, chunk)[number]);
      }
    }
    return sum;
  }

  void add_up(MovingAverageGradients& result) const {
    const int64_t scales = c_.layout.scales, width = cut_.width(), groups = a_.log_scale.size(2);
    const at::Tensor weight = at::zeros({directions(), scales, width}, at::kDouble);
    const at::Tensor log_scale = at::zeros({directions(), scales, width}, at::kDouble);
    const at::Tensor skip = at::zeros({width}, at::kDouble);
    auto* weight_data = weight.template mutable_data_ptr<double>();
    auto* log_scale_data = log_scale.template mutable_data_ptr<double>();
    for (int64_t channel = 0; channel < width; channel += ScanPiece::kChannels) {
      const ScanPiece piece{0, channel, std::min(ScanPiece::kChannels, width - channel)};
      for (int64_t r = 0; r < directions(); ++r) {
        for (int64_t i = 0; i < numbers(piece); ++i) {
          const auto at = static_cast<size_t>(c_.layout.at(r, piece) + i);
          const int64_t to = (r * scales + i / piece.channels) * width + channel + i % piece.channels;
          weight_data[to] = total(weight_, r, piece, i);
          // da / d log_scale = a rate: 0 for a = 0, where the rate is infinite.
          const double slope = std::exp(-c_.rate[at]) * c_.rate[at];
          log_scale_data[to] = std::isnan(slope) ? 0 : slope * total(decay_, r, piece, i);
        }
      }
      for (int64_t i = 0; a_.skip && i < piece.channels; ++i) {
        skip.template mutable_data_ptr<double>()[channel + i] = total(skip_, 0, piece, i);
      }
    }
    result.weight = weight.to(a_.weight.scalar_type());
    result.log_scale = log_scale.view({directions(), scales, groups, groups == 0 ? 0 : width / groups})
                           .sum(3)
                           .to(a_.log_scale.scalar_type());
    if (a_.skip) result.skip = skip.to(a_.skip->scalar_type());
  }

  const MovingAverageArguments& a_;
  Coefficients<T> c_;
  ScanCut cut_;
  at::Tensor state_, state_gradient_, dense_x_, dense_gradient_;
  ScanTokens<T> x_, gradient_;
  ChunkNumbers<double> sums_;              // before each chunk
  ChunkNumbers<double> adjoints_;          // the gradient of the sums after each chunk
  ChunkNumbers<T> decay_, weight_, skip_;  // gradients, of each chunk
};

}  // namespace

MovingAverageGradients moving_average_gradients_on_cpu(const MovingAverageArguments& a, const at::Tensor& out_gradient,
                                                       const at::Tensor& state_gradient) {
  kernels::use_cpu_target_of_environment();
  return a.x.scalar_type() == at::kDouble ? ScanBackward<double>(a, out_gradient, state_gradient).run()
                                          : ScanBackward<float>(a, out_gradient, state_gradient).run();
}

}  // namespace primal::ops
