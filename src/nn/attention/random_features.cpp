#include "nn/attention/random_features.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/random.h"

namespace primal::nn {

namespace {

constexpr uint64_t kDirections = 0x6661766f72;  // the purpose of these numbers: what else has the seed draws others

at::Tensor gaussian_numbers(base::Random& random, int64_t rows, int64_t columns) {
  at::Tensor numbers = at::empty({rows, columns}, at::kDouble);
  std::generate_n(numbers.data_ptr<double>(), rows * columns, [&] { return random.normal(); });
  return numbers;
}

}  // namespace

at::Tensor random_directions(int64_t features, int64_t width, uint64_t seed, uint64_t draw) {
  base::Random random = base::Random::numbered(seed, kDirections, draw);
  const int64_t blocks = (features + width - 1) / width;
  const auto [orthonormal, triangle] =
      at::linalg_qr(gaussian_numbers(random, blocks * width, width).view({blocks, width, width}));
  // A factorisation chooses the signs: without those of the diagonal the first entry of a block would always be below
  // 0, and the mean of the features would not be the kernel.
  const at::Tensor signs = triangle.diagonal(0, 1, 2).sign().unsqueeze(-1);
  const at::Tensor rows = (orthonormal.transpose(1, 2) * signs).reshape({blocks * width, width});
  const at::Tensor lengths = at::linalg_vector_norm(gaussian_numbers(random, features, width), 2, 1, /*keepdim=*/true);
  return rows.narrow(0, 0, features) * lengths;
}

}  // namespace primal::nn
