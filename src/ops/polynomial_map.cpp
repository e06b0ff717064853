#include "ops/polynomial_map.h"

#include <ATen/ATen.h>

#include <cmath>
#include <mutex>
#include <vector>

#include "ops/fork.h"
#include "ops/unit_length.h"
#include "primal/error.h"

namespace primal::ops {

namespace {

constexpr int64_t kMostFeatures = 65536;

std::mutex tables_mutex;  // of all tables of monomials
[[maybe_unused]] const bool tables_survive_fork = fork_waits_for<tables_mutex>();

// Steps to the next non-decreasing tuple with entries below d; false after the last.
bool next_tuple(std::vector<int64_t>& tuple, int64_t d) {
  for (size_t i = tuple.size(); i-- > 0;) {
    if (tuple[i] + 1 < d) {
      std::fill(tuple.begin() + static_cast<std::ptrdiff_t>(i), tuple.end(), tuple[i] + 1);
      return true;
    }
  }
  return false;
}

// degree! / (product of the factorials of the multiplicities), for a sorted tuple.
double multinomial(const std::vector<int64_t>& tuple) {
  double value = 1;
  int64_t repeats = 0;
  for (size_t i = 0; i < tuple.size(); ++i) {
    repeats = i > 0 && tuple[i] == tuple[i - 1] ? repeats + 1 : 1;
    value *= static_cast<double>(i + 1) / static_cast<double>(repeats);
  }
  return value;
}

}  // namespace

int64_t Polynomial::width(int64_t d) const {
  int64_t features = 1;
  for (int64_t i = 1; i <= degree_; ++i) {
    features = features * (d + i - 1) / i;
    if (features > kMostFeatures) {
      throw Error("polynomial(" + std::to_string(degree_) + "): a head of width " + std::to_string(d) +
                  " has more than " + std::to_string(kMostFeatures) + " monomials");
    }
  }
  return features;
}

const Polynomial::Monomials& Polynomial::monomials(int64_t d) const {
  const std::lock_guard lock(tables_mutex);
  if (const auto found = monomials_.find(d); found != monomials_.end()) return found->second;
  const int64_t p = width(d);
  Monomials result{at::empty({degree_, p}, at::kLong), at::empty({p}, at::kDouble)};
  std::vector<int64_t> tuple(static_cast<size_t>(degree_), 0);
  auto factors = result.factors.accessor<int64_t, 2>();
  auto weights = result.weights.accessor<double, 1>();
  for (int64_t column = 0; column < p; ++column, next_tuple(tuple, d)) {
    for (int64_t i = 0; i < degree_; ++i) factors[i][column] = tuple[static_cast<size_t>(i)];
    weights[column] = std::sqrt(multinomial(tuple));
  }
  return monomials_.emplace(d, std::move(result)).first->second;
}

at::Tensor Polynomial::forward(const at::Tensor& u) const {
  const Monomials& m = monomials(u.size(-1));
  const at::Tensor unit = unit_length(u);
  at::Tensor product = m.weights.to(u.options());
  for (const at::Tensor& factor : m.factors.to(u.device()).unbind(0)) product = product * unit.index_select(-1, factor);
  return product;
}

at::Tensor Polynomial::backward(const at::Tensor& u, const at::Tensor& grad) const {
  const Monomials& m = monomials(u.size(-1));
  const at::Tensor unit = unit_length(u);
  const std::vector<at::Tensor> factors = m.factors.to(u.device()).unbind(0);
  const at::Tensor weighted = grad * m.weights.to(u.options());
  at::Tensor grad_unit = at::zeros_like(u, at::MemoryFormat::Contiguous);
  for (size_t i = 0; i < factors.size(); ++i) {
    at::Tensor others = weighted;
    for (size_t j = 0; j < factors.size(); ++j) {
      if (j != i) others = others * unit.index_select(-1, factors[j]);
    }
    grad_unit.index_add_(-1, factors[i], others);
  }
  return unit_length_backward(u, grad_unit);
}

}  // namespace primal::ops
