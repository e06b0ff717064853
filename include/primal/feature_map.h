// Feature maps phi of Primal-Attention, and how to add your own.
//
//   struct Signed final : primal::FeatureMap {
//     torch::Tensor forward(const torch::Tensor& u) const override { return u.sign() * u.abs().sqrt(); }
//     torch::Tensor backward(const torch::Tensor& u, const torch::Tensor& grad) const override { ... }
//   };
//   primal::register_feature_map("signed", std::make_shared<Signed>());
//   options.feature_map = "signed";  // C++ and Python, also under torch.compile
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "primal/export.h"

namespace primal {

/// phi acts on the last axis: [..., d] -> [..., width(d)]. It sees float32 or float64 (bfloat16 is widened before) and
/// may be called from several threads at once.
class PRIMAL_API FeatureMap {
 public:
  virtual ~FeatureMap() = default;
  /// Number of features p of a head of width d.
  virtual int64_t width(int64_t d) const { return d; }
  /// phi(u). u: [..., d] -> [..., p]
  virtual at::Tensor forward(const at::Tensor& u) const = 0;
  /// Gradient of the loss for u, from the one for phi(u). grad: [..., p] -> [..., d]
  virtual at::Tensor backward(const at::Tensor& u, const at::Tensor& grad) const = 0;
};

/// The built-in maps are
///   cosine               u / max(|u|, 1e-12); the published one
///   exponential          exp(u) scaled to unit length, safe for any u
///   polynomial(degree)   monomials of the unit vector: <phi(q), phi(k)> = cos(q, k)^degree
///   identity             u
/// Throws Error for a name that is not known; the message lists the names.
PRIMAL_API std::shared_ptr<const FeatureMap> find_feature_map(const std::string& name);

/// Makes a map known under a name, process-wide. Throws Error if the name is taken.
PRIMAL_API void register_feature_map(const std::string& name, std::shared_ptr<const FeatureMap> map);

/// The names that find_feature_map knows.
PRIMAL_API std::vector<std::string> feature_map_names();

}  // namespace primal
