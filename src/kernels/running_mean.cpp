// Compiled once for every CPU target by Highway's foreach_target; the vectors run over channels, so any target adds the
// same numbers in the same order and gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/running_mean.cpp"
#include "kernels/running_mean.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::ScalableTag<double>;

HWY_INLINE hn::Vec<Doubles> load(Doubles d, const double* p) { return hn::LoadU(d, p); }
HWY_INLINE hn::Vec<Doubles> load(Doubles d, const float* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, Doubles>(), p));
}
HWY_INLINE void store(Doubles d, hn::Vec<Doubles> v, double* p) { hn::StoreU(v, d, p); }
HWY_INLINE void store(Doubles, hn::Vec<Doubles> v, float* p) {
  const hn::Rebind<float, Doubles> f;
  hn::StoreU(hn::DemoteTo(f, v), f, p);
}

// sum += x, then mean = sum / count, over one row.
template <typename T>
void add_and_divide(const T* HWY_RESTRICT x, int64_t width, double count, double* HWY_RESTRICT sum,
                    T* HWY_RESTRICT mean) {
  const Doubles d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto divisor = hn::Set(d, count);
  int64_t c = 0;
  for (; c + lanes <= width; c += lanes) {
    const auto s = hn::Add(hn::LoadU(d, sum + c), load(d, x + c));
    hn::StoreU(s, d, sum + c);
    store(d, hn::Div(s, divisor), mean + c);
  }
  for (; c < width; ++c) {
    sum[c] += static_cast<double>(x[c]);
    mean[c] = static_cast<T>(sum[c] / count);
  }
}

// carry += dmean / count, over one row.
template <typename T>
void add_quotient(const T* HWY_RESTRICT dmean, int64_t width, double count, double* HWY_RESTRICT carry) {
  const Doubles d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto divisor = hn::Set(d, count);
  int64_t c = 0;
  for (; c + lanes <= width; c += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, carry + c), hn::Div(load(d, dmean + c), divisor)), d, carry + c);
  }
  for (; c < width; ++c) carry[c] += static_cast<double>(dmean[c]) / count;
}

template <typename T>
void forward(const T* x, const bool* padded, RunningMeanShape shape, double* sum, int64_t& count, T* mean) {
  for (int64_t t = 0; t < shape.tokens; ++t, x += shape.stride, mean += shape.stride) {
    if (padded == nullptr || !padded[t]) {
      add_and_divide(x, shape.width, static_cast<double>(++count), sum, mean);
    } else {
      const double divisor = static_cast<double>(std::max<int64_t>(count, 1));
      for (int64_t c = 0; c < shape.width; ++c) mean[c] = static_cast<T>(sum[c] / divisor);
    }
  }
}

template <typename T>
void backward(const T* dmean, const bool* padded, RunningMeanShape shape, double* carry, T* dx) {
  int64_t count = 0;
  for (int64_t t = 0; t < shape.tokens; ++t) count += (padded == nullptr || !padded[t]) ? 1 : 0;
  std::fill_n(carry, shape.width, 0.0);
  for (int64_t t = shape.tokens - 1; t >= 0; --t) {
    add_quotient(dmean + t * shape.stride, shape.width, static_cast<double>(std::max<int64_t>(count, 1)), carry);
    const bool counted = padded == nullptr || !padded[t];
    T* row = dx + t * shape.stride;
    for (int64_t c = 0; c < shape.width; ++c) row[c] = counted ? static_cast<T>(carry[c]) : T{0};
    count -= counted ? 1 : 0;
  }
}

// Highway dispatches plain functions, not templates.
void forward_float(const float* x, const bool* padded, RunningMeanShape shape, double* sum, int64_t& count,
                   float* mean) {
  forward(x, padded, shape, sum, count, mean);
}
void forward_double(const double* x, const bool* padded, RunningMeanShape shape, double* sum, int64_t& count,
                    double* mean) {
  forward(x, padded, shape, sum, count, mean);
}
void backward_float(const float* dmean, const bool* padded, RunningMeanShape shape, double* carry, float* dx) {
  backward(dmean, padded, shape, carry, dx);
}
void backward_double(const double* dmean, const bool* padded, RunningMeanShape shape, double* carry, double* dx) {
  backward(dmean, padded, shape, carry, dx);
}

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace primal::kernels {

HWY_EXPORT(forward_float);
HWY_EXPORT(forward_double);
HWY_EXPORT(backward_float);
HWY_EXPORT(backward_double);

void running_mean(const float* x, const bool* padded, RunningMeanShape shape, double* sum, int64_t& count,
                  float* mean) {
  HWY_DYNAMIC_DISPATCH(forward_float)(x, padded, shape, sum, count, mean);
}
void running_mean(const double* x, const bool* padded, RunningMeanShape shape, double* sum, int64_t& count,
                  double* mean) {
  HWY_DYNAMIC_DISPATCH(forward_double)(x, padded, shape, sum, count, mean);
}
void running_mean_backward(const float* dmean, const bool* padded, RunningMeanShape shape, double* carry, float* dx) {
  HWY_DYNAMIC_DISPATCH(backward_float)(dmean, padded, shape, carry, dx);
}
void running_mean_backward(const double* dmean, const bool* padded, RunningMeanShape shape, double* carry, double* dx) {
  HWY_DYNAMIC_DISPATCH(backward_double)(dmean, padded, shape, carry, dx);
}

}  // namespace primal::kernels
#endif
