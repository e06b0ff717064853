// One step of an optimizer over one array of parameters, in one pass over memory: AdamW, Adam, RAdam, SGD.
//
// All of them are one formula with different coefficients, which the caller computes once per step in double:
//
//   g = gradient_scale * gradient + l2 * p
//   m = beta1 * m + gain1 * g                    if there is m
//   v = beta2 * v + (1 - beta2) * g^2            if there is v
//   p = keep * p - step_g * g - step_m * m / (sqrt(v) * root_scale + eps)
//
// with m instead of the quotient if not adaptive.
#pragma once

#include <cstdint>

namespace primal::kernels {

struct StepCoefficients {
  double gradient_scale = 1;  ///< the factor of gradient clipping, so that clipping needs no pass of its own
  double l2 = 0;              ///< weight decay as part of the gradient (Adam, SGD)
  double keep = 1;            ///< 1 - lr * weight decay, apart from the gradient (AdamW)
  double beta1 = 0;
  double gain1 = 1;
  double beta2 = 0;
  double step_g = 0;
  double step_m = 0;
  double root_scale = 1;
  double eps = 0;
  bool adaptive = false;  ///< needs v
};

/// Arrays of equal length. v may be null, then m may be null too.
template <typename T>
struct StepArrays {
  T* p;
  const T* gradient;
  T* m;
  T* v;
};

/// An element's result does not depend on its place in the array, so any division into blocks gives the same bits.
void optimizer_step(const StepCoefficients& coefficients, int64_t size, const StepArrays<float>& arrays);
void optimizer_step(const StepCoefficients& coefficients, int64_t size, const StepArrays<double>& arrays);

/// The sum of x[i]^2 in double precision.
double sum_of_squares(const float* x, int64_t size);
double sum_of_squares(const double* x, int64_t size);

}  // namespace primal::kernels
