#include "nn/time_encoding.h"

#include <ATen/ATen.h>

#include <cmath>

#include "primal/error.h"

namespace primal::nn {

namespace {

// Periods from a few steps to far beyond any sequence, evenly spaced on a logarithmic scale.
constexpr double kSlowest = 1e-4;

}  // namespace

TimeEncodingImpl::TimeEncodingImpl(TimeEncodingOptions options) : options_(options) {
  if (options_.width < 1) throw Error(c10::str("time_encoding: width must be at least 1, got ", options_.width));
  if (options_.frequencies < 0) {
    throw Error(c10::str("time_encoding: frequencies must not be negative, got ", options_.frequencies));
  }
  reset();
}

void TimeEncodingImpl::reset() {
  const int64_t count = options_.frequencies > 0 ? options_.frequencies : std::max<int64_t>(options_.width / 2, 1);
  frequencies = register_parameter("frequencies", torch::logspace(0, std::log10(kSlowest), count));
  proj = register_module("proj", torch::nn::Linear(2 * count, options_.width));
}

torch::Tensor TimeEncodingImpl::forward(const torch::Tensor& times) {
  const torch::Tensor angles = times.unsqueeze(-1) * frequencies;
  const double scale = 1 / std::sqrt(static_cast<double>(frequencies.size(0)));
  return proj(at::cat({angles.cos(), angles.sin()}, -1) * scale);
}

}  // namespace primal::nn
