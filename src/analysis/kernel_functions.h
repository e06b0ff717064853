// Kernels of the rows of two tables, and their values.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "base/names.h"

namespace primal::analysis {

enum class KernelKind {
  linear,  ///< x.z
  cosine,  ///< x.z / (|x| |z|)
  poly,    ///< (x.z / width^2 + offset)^degree
  rbf,     ///< exp(-|x - z|^2 / width^2)
  sne,     ///< rbf, divided by its sum over all rows z: asymmetric
  matrix   ///< the tables are a matrix of kernel values, and its transpose
};

inline constexpr base::Names<KernelKind, 6> kKernelNames{{{"linear", KernelKind::linear},
                                                          {"cosine", KernelKind::cosine},
                                                          {"poly", KernelKind::poly},
                                                          {"rbf", KernelKind::rbf},
                                                          {"sne", KernelKind::sne},
                                                          {"matrix", KernelKind::matrix}}};

struct Kernel {
  KernelKind kind = KernelKind::cosine;
  double width = 1;
  int64_t degree = 2;
  double offset = 1;  ///< 0 or more, so that poly is positive definite
};

/// Whether kappa(x, z) = kappa(z, x).
bool is_symmetric(KernelKind kind);
/// Whether there is a width to choose by the data.
bool needs_width(KernelKind kind);
/// Throws Error for options that make no kernel.
void check(const Kernel& kernel);

/// -|x_i - z_j|^2 / width^2, [k, l]. x: [k, d], z: [l, d], float64. Distances are taken from the mean of z, which costs
/// fewer digits where both lie far from 0.
at::Tensor log_affinities(const Kernel& kernel, const at::Tensor& x, const at::Tensor& z);

/// kappa(x_i, z_j), [k, l]; of sne: all of z is what x is compared with.
at::Tensor kernel_values(const Kernel& kernel, const at::Tensor& x, const at::Tensor& z);

}  // namespace primal::analysis
