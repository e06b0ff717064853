// Compiled once for every CPU target by Highway's foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax_row.cpp"
#include "kernels/softmax_row.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
// clang-format off
#include <hwy/contrib/math/math-inl.h>  // after foreach_target.h
// clang-format on

#include "kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

// Floats sum up so many numbers of a row before a double takes over: rows are long, and floats would lose digits.
constexpr int64_t kSummedInFloat = 4096;

HWY_INLINE Vector lanes_or(WholeVector /*lanes*/, Vector v, Vector /*other*/) { return v; }
HWY_INLINE Vector lanes_or(FirstLanes lanes, Vector v, Vector other) {
  return hn::IfThenElse(hn::FirstN(Floats(), static_cast<size_t>(lanes.count)), v, other);
}

HWY_INLINE float largest_of(const float* x, int64_t count) {
  const Vector least = hn::Set(Floats(), -std::numeric_limits<float>::infinity());
  Vector largest = least;
  for_each_vector(count, [&](int64_t i, auto lanes)
                             HWY_ATTR { largest = hn::Max(largest, lanes_or(lanes, lanes.load(x + i), least)); });
  return hn::GetLane(hn::MaxOfLanes(Floats(), largest));
}

// keep(lanes, exponentials, i) for each vector.
template <typename Keep>
HWY_INLINE SoftmaxSums sums_of_row(const float* x, int64_t count, const Keep& keep) {
  const Floats d;
  SoftmaxSums result{largest_of(x, count), 0, 0};
  const Vector largest = hn::Set(d, static_cast<float>(result.largest));
  for (int64_t first = 0; first < count; first += kSummedInFloat) {
    Vector exponentials = hn::Zero(d), numbers = hn::Zero(d);
    for_each_vector(std::min(kSummedInFloat, count - first), [&](int64_t i, auto lanes) HWY_ATTR {
      const Vector v = lanes.load(x + first + i);
      const Vector e = lanes_or(lanes, hn::Exp(d, hn::Sub(v, largest)), hn::Zero(d));
      numbers = hn::Add(numbers, v);
      exponentials = hn::Add(exponentials, e);
      keep(lanes, e, first + i);
    });
    result.exponentials += static_cast<double>(sum_of_lanes(exponentials));
    result.numbers += static_cast<double>(sum_of_lanes(numbers));
  }
  // Highway's maximum may pass over a NaN, and its exponential of one is 0.
  if (std::isnan(result.numbers)) result.exponentials = result.numbers;
  return result;
}

SoftmaxSums sums_only(const float* x, int64_t count) {
  return sums_of_row(x, count, [](auto /*lanes*/, Vector /*e*/, int64_t /*i*/) HWY_ATTR {});
}

SoftmaxSums sums_and_exponentials(float* x, int64_t count) {
  return sums_of_row(x, count, [x](auto lanes, Vector e, int64_t i) HWY_ATTR { lanes.store(e, x + i); });
}

void probabilities(float* x, int64_t count, float largest, float log_sum) {
  const Floats d;
  const Vector first = hn::Set(d, largest), second = hn::Set(d, log_sum);
  for_each_vector(count, [&](int64_t i, auto lanes) HWY_ATTR {
    lanes.store(hn::Exp(d, hn::Sub(hn::Sub(lanes.load(x + i), first), second)), x + i);
  });
}

void gradient_of_scores(const float* p, const float* kept, float* gradient, int64_t count, float along) {
  const Vector factor = hn::Set(Floats(), along);
  for_each_vector(count, [&](int64_t i, auto lanes) HWY_ATTR {
    const Vector through = hn::Mul(lanes.load(kept + i), lanes.load(gradient + i));
    lanes.store(hn::NegMulAdd(factor, lanes.load(p + i), through), gradient + i);
  });
}

void scaled_and_shifted(float* x, int64_t count, float scale, float shift) {
  const Vector factor = hn::Set(Floats(), scale), less = hn::Set(Floats(), shift);
  for_each_vector(
      count, [&](int64_t i, auto lanes) HWY_ATTR { lanes.store(hn::MulSub(lanes.load(x + i), factor, less), x + i); });
}

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace primal::kernels {

HWY_EXPORT(sums_only);
HWY_EXPORT(sums_and_exponentials);
HWY_EXPORT(probabilities);
HWY_EXPORT(scaled_and_shifted);
HWY_EXPORT(gradient_of_scores);

SoftmaxSums softmax_sums(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(sums_only)(x, count); }

SoftmaxSums softmax_exponentials(float* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sums_and_exponentials)(x, count);
}

void softmax_probabilities(float* x, int64_t count, float largest, float log_sum) {
  HWY_DYNAMIC_DISPATCH(probabilities)(x, count, largest, log_sum);
}

void scale_and_shift(float* x, int64_t count, float scale, float shift) {
  HWY_DYNAMIC_DISPATCH(scaled_and_shifted)(x, count, scale, shift);
}

void softmax_gradient(const float* p, const float* kept, float* gradient, int64_t count, float along) {
  HWY_DYNAMIC_DISPATCH(gradient_of_scores)(p, kept, gradient, count, along);
}

}  // namespace primal::kernels
#endif
