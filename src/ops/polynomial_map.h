// The feature map of the kernel cos(q, k)^degree, written out in monomials.
#pragma once

#include <unordered_map>

#include "primal/feature_map.h"

namespace primal::ops {

/// width(d) = C(d + degree - 1, degree): 2080 for d = 64 and degree 2. Refused above 65536 features.
class Polynomial final : public FeatureMap {
 public:
  explicit Polynomial(int64_t degree) : degree_(degree) {}
  int64_t width(int64_t d) const override;
  at::Tensor forward(const at::Tensor& u) const override;
  at::Tensor backward(const at::Tensor& u, const at::Tensor& grad) const override;

 private:
  struct Monomials {
    at::Tensor factors;  // [degree, p] int64: which entries of u are multiplied
    at::Tensor weights;  // [p] float64: sqrt of the multinomial coefficient
  };
  const Monomials& monomials(int64_t d) const;

  int64_t degree_;
  mutable std::unordered_map<int64_t, Monomials> monomials_;  // by d
};

}  // namespace primal::ops
