// Compiled once for every CPU target by Highway's foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm.cpp"
#include "kernels/layer_norm.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cmath>

#include "kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

struct Moments {
  float mean, inverse_deviation;
};

// Two passes: the row is in L1, and the variance of numbers far from 0 keeps its digits.
HWY_INLINE Moments moments(const float* x, NormShape shape) {
  const Floats d;
  const auto width = static_cast<float>(shape.width);
  Vector sum = hn::Zero(d);
  for_each_vector(shape.width, [&](int64_t c, auto lanes) HWY_ATTR { sum = hn::Add(sum, lanes.load(x + c)); });
  const float mean = sum_of_lanes(sum) / width;
  const Vector center = hn::Set(d, mean);
  Vector squares = hn::Zero(d);
  const auto lanes_of_vector = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes_of_vector <= shape.width; c += lanes_of_vector) {
    const Vector difference = hn::Sub(hn::LoadU(d, x + c), center);
    squares = hn::MulAdd(difference, difference, squares);
  }
  float total = sum_of_lanes(squares);
  for (; c < shape.width; ++c) total += (x[c] - mean) * (x[c] - mean);
  return {mean, 1 / std::sqrt(total / width + shape.epsilon)};
}

void norm_rows(const float* x, NormShape shape, const float* weight, const float* bias, float* out) {
  const Floats d;
  for (int64_t i = 0; i < shape.rows; ++i, x += shape.width, out += shape.width) {
    const Moments m = moments(x, shape);
    const Vector scale = hn::Set(d, m.inverse_deviation), center = hn::Set(d, m.mean);
    for_each_vector(shape.width, [&](int64_t c, auto lanes) HWY_ATTR {
      const Vector normed = hn::Mul(hn::Sub(lanes.load(x + c), center), scale);
      lanes.store(hn::MulAdd(normed, lanes.load(weight + c), lanes.load(bias + c)), out + c);
    });
  }
}

void norm_rows_backward(const float* x, NormShape shape, const float* weight, const float* gradient, bool add,
                        float* x_gradient, float* weight_gradient, float* bias_gradient) {
  const Floats d;
  const auto width = static_cast<float>(shape.width);
  for (int64_t i = 0; i < shape.rows; ++i, x += shape.width, gradient += shape.width, x_gradient += shape.width) {
    const Moments m = moments(x, shape);
    const Vector scale = hn::Set(d, m.inverse_deviation), center = hn::Set(d, m.mean);
    Vector sum = hn::Zero(d), sum_along = hn::Zero(d);
    for_each_vector(shape.width, [&](int64_t c, auto lanes) HWY_ATTR {
      const Vector normed = hn::Mul(hn::Sub(lanes.load(x + c), center), scale), g = lanes.load(gradient + c);
      const Vector weighted = hn::Mul(g, lanes.load(weight + c));
      sum = hn::Add(sum, weighted);
      sum_along = hn::MulAdd(weighted, normed, sum_along);
      lanes.store(hn::MulAdd(g, normed, lanes.load(weight_gradient + c)), weight_gradient + c);
      lanes.store(hn::Add(g, lanes.load(bias_gradient + c)), bias_gradient + c);
    });
    const Vector mean = hn::Set(d, sum_of_lanes(sum) / width), along = hn::Set(d, sum_of_lanes(sum_along) / width);
    for_each_vector(shape.width, [&](int64_t c, auto lanes) HWY_ATTR {
      const Vector normed = hn::Mul(hn::Sub(lanes.load(x + c), center), scale);
      const Vector weighted = hn::Mul(lanes.load(gradient + c), lanes.load(weight + c));
      const Vector centered = hn::Sub(hn::Sub(weighted, mean), hn::Mul(normed, along));
      const Vector before = add ? lanes.load(x_gradient + c) : hn::Zero(Floats());
      lanes.store(hn::MulAdd(centered, scale, before), x_gradient + c);
    });
  }
}

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace primal::kernels {

HWY_EXPORT(norm_rows);
HWY_EXPORT(norm_rows_backward);

void layer_norm(const float* x, NormShape shape, const float* weight, const float* bias, float* out) {
  HWY_DYNAMIC_DISPATCH(norm_rows)(x, shape, weight, bias, out);
}
void layer_norm_backward(const float* x, NormShape shape, const float* weight, const float* gradient, bool add,
                         float* x_gradient, float* weight_gradient, float* bias_gradient) {
  HWY_DYNAMIC_DISPATCH(norm_rows_backward)(x, shape, weight, gradient, add, x_gradient, weight_gradient, bias_gradient);
}

}  // namespace primal::kernels
#endif
