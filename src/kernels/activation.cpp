// Compiled once for every CPU target by Highway's foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cpp"
#include "kernels/activation.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>
// clang-format off
#include <hwy/contrib/math/math-inl.h>  // after foreach_target.h
// clang-format on

#include "kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

struct Gelu {
  Vector value, slope;
};

// With z = |x| / sqrt(2), Phi(-|x|) = erfc(z) / 2 = exp(-z^2) S(z) / 2, where S, the scaled complementary error
// function, falls slowly and is a polynomial of t = 1 / (1 + 0.3 z) to a relative 2e-8 for z up to 9.5 (minimax fit;
// beyond, erfc is 0 in float32). The same exponential is the density phi(x) but for a factor, which the slope Phi + x
// phi needs.
HWY_INLINE Gelu gelu(Vector x) {
  const Floats d;
  const Vector z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118654752f));
  const Vector t = hn::Div(hn::Set(d, 1.0f), hn::MulAdd(z, hn::Set(d, 0.3f), hn::Set(d, 1.0f)));
  constexpr float kCoefficients[] = {-0.12943407196114337f, 0.48509640844526486f,  -0.5112263528041258f,
                                     0.546394939062995f,    -0.09363117695140191f, 0.21443624910996778f,
                                     0.14848243657693175f,  0.17069193425668422f,  0.16918961481838696f};
  Vector s = hn::Set(d, kCoefficients[0]);
  for (int i = 1; i < 9; ++i) s = hn::MulAdd(s, t, hn::Set(d, kCoefficients[i]));
  const Vector exponential = hn::Exp(d, hn::Mul(hn::Mul(x, x), hn::Set(d, -0.5f)));
  const Vector tail = hn::Mul(hn::Mul(hn::Mul(s, t), exponential), hn::Set(d, 0.5f));
  const Vector phi = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
  const Vector density = hn::Mul(exponential, hn::Set(d, 0.39894228040143268f));
  return {hn::Mul(x, phi), hn::MulAdd(x, density, phi)};
}

void gelu_forward(const float* x, int64_t count, float* out) {
  for_each_vector(count, [&](int64_t i, auto lanes) HWY_ATTR { lanes.store(gelu(lanes.load(x + i)).value, out + i); });
}

void gelu_backward(const float* x, int64_t count, float* value, float* gradient) {
  for_each_vector(count, [&](int64_t i, auto lanes) HWY_ATTR {
    const Gelu g = gelu(lanes.load(x + i));
    lanes.store(g.value, value + i);
    lanes.store(hn::Mul(g.slope, lanes.load(gradient + i)), gradient + i);
  });
}

// max(x, 0) as ATen computes it: NaN stays NaN, and lets the gradient through.
void relu_forward(const float* x, int64_t count, float* out) {
  for_each_vector(count, [&](int64_t i, auto lanes) HWY_ATTR {
    const Vector v = lanes.load(x + i), zero = hn::Zero(Floats());
    lanes.store(hn::IfThenElse(hn::Lt(v, zero), zero, v), out + i);
  });
}

void relu_backward(const float* x, int64_t count, float* value, float* gradient) {
  for_each_vector(count, [&](int64_t i, auto lanes) HWY_ATTR {
    const Vector v = lanes.load(x + i), zero = hn::Zero(Floats());
    lanes.store(hn::IfThenElse(hn::Lt(v, zero), zero, v), value + i);
    lanes.store(hn::IfThenElse(hn::Le(v, zero), zero, lanes.load(gradient + i)), gradient + i);
  });
}

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace primal::kernels {

HWY_EXPORT(gelu_forward);
HWY_EXPORT(gelu_backward);
HWY_EXPORT(relu_forward);
HWY_EXPORT(relu_backward);

void activate(Activation activation, const float* x, int64_t count, float* out) {
  if (activation == Activation::gelu) {
    HWY_DYNAMIC_DISPATCH(gelu_forward)(x, count, out);
  } else {
    HWY_DYNAMIC_DISPATCH(relu_forward)(x, count, out);
  }
}

void activate_backward(Activation activation, const float* x, int64_t count, float* value, float* gradient) {
  if (activation == Activation::gelu) {
    HWY_DYNAMIC_DISPATCH(gelu_backward)(x, count, value, gradient);
  } else {
    HWY_DYNAMIC_DISPATCH(relu_backward)(x, count, value, gradient);
  }
}

}  // namespace primal::kernels
#endif
