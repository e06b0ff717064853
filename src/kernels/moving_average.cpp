// Compiled once for every CPU target by Highway's foreach_target; the vectors run over channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/moving_average.cpp"
#include "kernels/moving_average.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

// Rows that pass while the sums of a vector of channels stay in registers. Their memory is read from end to end, since
// the next vector of channels follows.
constexpr int64_t kBlock = 8;
// Time scales at once; more come in groups of so many.
constexpr int64_t kGroup = 4;

template <typename T>
using VectorOf = hn::Vec<hn::ScalableTag<T>>;

template <typename T>
HWY_INLINE Scales<T> from_scale(Scales<T> scales, int64_t first, int64_t count) {
  const int64_t offset = first * scales.stride;
  return {count, scales.stride, scales.decay + offset, scales.weight == nullptr ? nullptr : scales.weight + offset};
}

// A few vectors, one per time scale.
template <typename T, int64_t kScales>
struct PerScale {
  VectorOf<T> v[kScales == 0 ? 1 : kScales];

  template <typename Lanes>
  HWY_INLINE void load(const T* p, int64_t stride, Lanes lanes) {
    for (int64_t i = 0; i < kScales; ++i) v[i] = lanes.load(p + i * stride);
  }
  template <typename Lanes>
  HWY_INLINE void store(T* p, int64_t stride, Lanes lanes) const {
    for (int64_t i = 0; i < kScales; ++i) lanes.store(v[i], p + i * stride);
  }
  HWY_INLINE void clear() {
    for (int64_t i = 0; i < kScales; ++i) v[i] = hn::Zero(hn::ScalableTag<T>());
  }
};

// body(first row, rows, channel, lanes) for all blocks of rows and all vectors of channels.
template <typename T, typename Body>
HWY_INLINE void for_each_block(ScanRows rows, const Body& body) {
  for (int64_t first = 0; first < rows.count; first += kBlock) {
    const int64_t count = std::min(kBlock, rows.count - first);
    for_each_vector<T>(rows.width, [&](int64_t c, auto lanes) HWY_ATTR { body(first, count, c, lanes); });
  }
}

// step(scales.count as a constant, scales, index of the first) for groups of at most kGroup time scales.
template <typename T, typename Step>
HWY_INLINE void for_each_group(Scales<T> scales, const Step& step) {
  for (int64_t first = 0; first < scales.count; first += kGroup) {
    const Scales<T> group = from_scale(scales, first, std::min(kGroup, scales.count - first));
    switch (group.count) {
      case 1:
        step(std::integral_constant<int64_t, 1>(), group, first);
        break;
      case 2:
        step(std::integral_constant<int64_t, 2>(), group, first);
        break;
      case 3:
        step(std::integral_constant<int64_t, 3>(), group, first);
        break;
      default:
        step(std::integral_constant<int64_t, kGroup>(), group, first);
    }
  }
}

template <typename T>
void sums_of_rows(const T* x, ScanRows rows, Scales<T> scales, T* sums) {
  for_each_group(scales, [&](auto n, Scales<T> group, int64_t first_scale) HWY_ATTR {
    T* group_sums = sums + first_scale * group.stride;
    for_each_block<T>(rows, [&](int64_t first, int64_t count, int64_t c, auto lanes) HWY_ATTR {
      PerScale<T, n> m, a;
      m.load(group_sums + c, group.stride, lanes);
      a.load(group.decay + c, group.stride, lanes);
      for (int64_t t = first; t < first + count; ++t) {
        const auto in = lanes.load(x + rows.offset[t] + c);
        for (int64_t i = 0; i < n; ++i) m.v[i] = hn::MulAdd(a.v[i], m.v[i], in);
      }
      m.store(group_sums + c, group.stride, lanes);
    });
  });
}

template <typename T>
void gradients_of_rows(const T* gradient, ScanRows rows, Scales<T> scales, T* sums) {
  for_each_group(scales, [&](auto n, Scales<T> group, int64_t first_scale) HWY_ATTR {
    T* group_sums = sums + first_scale * group.stride;
    for_each_block<T>(rows, [&](int64_t first, int64_t count, int64_t c, auto lanes) HWY_ATTR {
      PerScale<T, n> z, a, w;
      z.load(group_sums + c, group.stride, lanes);
      a.load(group.decay + c, group.stride, lanes);
      w.load(group.weight + c, group.stride, lanes);
      for (int64_t t = first; t < first + count; ++t) {
        const auto in = lanes.load(gradient + rows.offset[t] + c);
        for (int64_t i = 0; i < n; ++i) z.v[i] = hn::Mul(a.v[i], hn::MulAdd(w.v[i], in, z.v[i]));
      }
      z.store(group_sums + c, group.stride, lanes);
    });
  });
}

template <typename T>
void skip_rows(const T* x, ScanRows rows, const T* skip, T* y) {
  for_each_block<T>(rows, [&](int64_t first, int64_t count, int64_t c, auto lanes) HWY_ATTR {
    const auto factor = skip == nullptr ? hn::Zero(hn::ScalableTag<T>()) : lanes.load(skip + c);
    for (int64_t t = first; t < first + count; ++t) {
      lanes.store(hn::Mul(factor, lanes.load(x + rows.offset[t] + c)), y + rows.offset[t] + c);
    }
  });
}

template <typename T, int64_t kScales, bool kAdd, bool kFromZero>
void average_rows(const T* x, ScanRows rows, Scales<T> scales, const T* skip, T* sums, T* from_zero, T* y) {
  for_each_block<T>(rows, [&](int64_t first, int64_t count, int64_t c, auto lanes) HWY_ATTR {
    PerScale<T, kScales> m, l, a, w;
    m.load(sums + c, scales.stride, lanes);
    a.load(scales.decay + c, scales.stride, lanes);
    w.load(scales.weight + c, scales.stride, lanes);
    if constexpr (kFromZero) l.load(from_zero + c, scales.stride, lanes);
    const auto factor = skip == nullptr ? hn::Zero(hn::ScalableTag<T>()) : lanes.load(skip + c);
    const auto row = [&](int64_t t) HWY_ATTR {
      const int64_t at = rows.offset[t] + c;
      const auto in = lanes.load(x + at);
      auto out = kAdd ? lanes.load(y + at) : hn::Mul(factor, in);
      for (int64_t i = 0; i < kScales; ++i) {
        m.v[i] = hn::MulAdd(a.v[i], m.v[i], in);
        out = hn::MulAdd(w.v[i], m.v[i], out);
        if constexpr (kFromZero) l.v[i] = hn::MulAdd(a.v[i], l.v[i], in);
      }
      lanes.store(out, y + at);
    };
    if (count == kBlock) {
      for (int64_t t = 0; t < kBlock; ++t) row(first + t);
    } else {
      for (int64_t t = 0; t < count; ++t) row(first + t);
    }
    m.store(sums + c, scales.stride, lanes);
    if constexpr (kFromZero) l.store(from_zero + c, scales.stride, lanes);
  });
}

template <typename T>
void average(const T* x, ScanRows rows, Scales<T> scales, const T* skip, bool add, T* sums, T* from_zero, T* y) {
  if (scales.count == 0 && !add) skip_rows(x, rows, skip, y);
  for_each_group(scales, [&](auto n, Scales<T> group, int64_t first) HWY_ATTR {
    T* group_sums = sums + first * group.stride;
    T* group_from_zero = from_zero == nullptr ? nullptr : from_zero + first * group.stride;
    const bool adds = add || first > 0;
    if (from_zero == nullptr) {
      (adds ? average_rows<T, n, true, false> : average_rows<T, n, false, false>)(x, rows, group, skip, group_sums,
                                                                                  group_from_zero, y);
    } else {
      (adds ? average_rows<T, n, true, true> : average_rows<T, n, false, true>)(x, rows, group, skip, group_sums,
                                                                                group_from_zero, y);
    }
  });
}

// Rows of x_gradient = (add ? x_gradient : 0) + skip y_gradient, and the gradient of skip.
template <typename T>
void skip_rows_backward(const T* x, const T* y_gradient, ScanRows rows, const T* skip, bool add, T* x_gradient,
                        T* skip_gradient) {
  for_each_block<T>(rows, [&](int64_t first, int64_t count, int64_t c, auto lanes) HWY_ATTR {
    const auto zero = hn::Zero(hn::ScalableTag<T>());
    const auto factor = skip == nullptr ? zero : lanes.load(skip + c);
    auto sum = skip == nullptr ? zero : lanes.load(skip_gradient + c);
    for (int64_t t = first; t < first + count; ++t) {
      const int64_t at = rows.offset[t] + c;
      const auto g = lanes.load(y_gradient + at);
      lanes.store(hn::MulAdd(factor, g, add ? lanes.load(x_gradient + at) : zero), x_gradient + at);
      sum = hn::MulAdd(g, lanes.load(x + at), sum);
    }
    if (skip != nullptr) lanes.store(sum, skip_gradient + c);
  });
}

// The sums before each block of rows. -> starts: [blocks, scales, width]
template <typename T, int64_t kScales>
void sums_before_blocks(const T* x, ScanRows rows, Scales<T> scales, const T* before, T* starts) {
  const int64_t block_size = kScales * rows.width;
  for_each_block<T>(rows, [&](int64_t first, int64_t count, int64_t c, auto lanes) HWY_ATTR {
    T* start = starts + first / kBlock * block_size + c;
    PerScale<T, kScales> m, a;
    if (first == 0) {
      m.load(before + c, scales.stride, lanes);
      m.store(start, rows.width, lanes);
    } else {
      m.load(start, rows.width, lanes);
    }
    if (first + count == rows.count) return;
    a.load(scales.decay + c, scales.stride, lanes);
    for (int64_t t = first; t < first + kBlock; ++t) {
      const auto in = lanes.load(x + rows.offset[t] + c);
      for (int64_t i = 0; i < kScales; ++i) m.v[i] = hn::MulAdd(a.v[i], m.v[i], in);
    }
    m.store(start + block_size, rows.width, lanes);
  });
}

template <typename T, int64_t kScales, bool kAdd>
void average_rows_backward(const T* x, const T* y_gradient, ScanRows rows, Scales<T> scales, const T* skip,
                           const T* after, T* x_gradient, ScaleGradients<T> gradients, const T* starts, T* adjoint) {
  const int64_t stride = scales.stride, last_block = (rows.count - 1) / kBlock * kBlock;
  for (int64_t first = last_block; first >= 0; first -= kBlock) {
    const int64_t count = std::min(kBlock, rows.count - first);
    const T* block_starts = starts + first / kBlock * kScales * rows.width;
    for_each_vector<T>(rows.width, [&](int64_t c, auto lanes) HWY_ATTR {
      PerScale<T, kScales> z, a, w, decay_sum, weight_sum;
      PerScale<T, kScales> m[kBlock + 1];  // before each row, and after the last
      a.load(scales.decay + c, stride, lanes);
      m[0].load(block_starts + c, rows.width, lanes);
      for (int64_t t = 0; t < count; ++t) {
        const auto in = lanes.load(x + rows.offset[first + t] + c);
        for (int64_t i = 0; i < kScales; ++i) m[t + 1].v[i] = hn::MulAdd(a.v[i], m[t].v[i], in);
      }
      if (first == last_block) {
        z.load(after + c, stride, lanes);
      } else {
        z.load(adjoint + c, rows.width, lanes);
      }
      w.load(scales.weight + c, stride, lanes);
      decay_sum.load(gradients.decay + c, stride, lanes);
      weight_sum.load(gradients.weight + c, stride, lanes);
      const auto zero = hn::Zero(hn::ScalableTag<T>());
      const bool skips = !kAdd && skip != nullptr;
      const auto factor = skips ? lanes.load(skip + c) : zero;
      auto skip_sum = skips ? lanes.load(gradients.skip + c) : zero;
      for (int64_t t = count - 1; t >= 0; --t) {
        const int64_t at = rows.offset[first + t] + c;
        const auto g = lanes.load(y_gradient + at);
        auto out = kAdd ? lanes.load(x_gradient + at) : hn::Mul(factor, g);
        for (int64_t i = 0; i < kScales; ++i) {
          const auto p = hn::MulAdd(w.v[i], g, z.v[i]);  // the gradient of this row's sum
          out = hn::Add(out, p);
          weight_sum.v[i] = hn::MulAdd(g, m[t + 1].v[i], weight_sum.v[i]);
          decay_sum.v[i] = hn::MulAdd(p, m[t].v[i], decay_sum.v[i]);
          z.v[i] = hn::Mul(a.v[i], p);
        }
        if (skips) skip_sum = hn::MulAdd(g, lanes.load(x + at), skip_sum);
        lanes.store(out, x_gradient + at);
      }
      z.store(adjoint + c, rows.width, lanes);
      decay_sum.store(gradients.decay + c, stride, lanes);
      weight_sum.store(gradients.weight + c, stride, lanes);
      if (skips) lanes.store(skip_sum, gradients.skip + c);
    });
  }
}

template <typename T>
void average_backward(const T* x, const T* y_gradient, ScanRows rows, Scales<T> scales, const T* skip, bool add,
                      const T* before, const T* after, T* x_gradient, ScaleGradients<T> gradients, T* space) {
  if (rows.count == 0) return;
  if (scales.count == 0) {
    skip_rows_backward(x, y_gradient, rows, add ? nullptr : skip, add, x_gradient, gradients.skip);
  }
  T* adjoint = space;
  T* starts = space + kGroup * rows.width;
  for_each_group(scales, [&](auto n, Scales<T> group, int64_t first) HWY_ATTR {
    const int64_t offset = first * group.stride;
    sums_before_blocks<T, n>(x, rows, group, before + offset, starts);
    const auto backward = add || first > 0 ? average_rows_backward<T, n, true> : average_rows_backward<T, n, false>;
    backward(x, y_gradient, rows, group, skip, after + offset, x_gradient,
             {gradients.decay + offset, gradients.weight + offset, gradients.skip}, starts, adjoint);
  });
}

// Highway dispatches plain functions, not templates.
void sums_float(const float* x, ScanRows rows, Scales<float> scales, float* sums) {
  sums_of_rows(x, rows, scales, sums);
}
void sums_double(const double* x, ScanRows rows, Scales<double> scales, double* sums) {
  sums_of_rows(x, rows, scales, sums);
}
void gradients_float(const float* gradient, ScanRows rows, Scales<float> scales, float* sums) {
  gradients_of_rows(gradient, rows, scales, sums);
}
void gradients_double(const double* gradient, ScanRows rows, Scales<double> scales, double* sums) {
  gradients_of_rows(gradient, rows, scales, sums);
}
void average_float(const float* x, ScanRows rows, Scales<float> scales, const float* skip, bool add, float* sums,
                   float* from_zero, float* y) {
  average(x, rows, scales, skip, add, sums, from_zero, y);
}
void average_double(const double* x, ScanRows rows, Scales<double> scales, const double* skip, bool add, double* sums,
                    double* from_zero, double* y) {
  average(x, rows, scales, skip, add, sums, from_zero, y);
}
void average_backward_float(const float* x, const float* y_gradient, ScanRows rows, Scales<float> scales,
                            const float* skip, bool add, const float* before, const float* after, float* x_gradient,
                            ScaleGradients<float> gradients, float* space) {
  average_backward(x, y_gradient, rows, scales, skip, add, before, after, x_gradient, gradients, space);
}
void average_backward_double(const double* x, const double* y_gradient, ScanRows rows, Scales<double> scales,
                             const double* skip, bool add, const double* before, const double* after,
                             double* x_gradient, ScaleGradients<double> gradients, double* space) {
  average_backward(x, y_gradient, rows, scales, skip, add, before, after, x_gradient, gradients, space);
}
int64_t backward_space(ScanRows rows) { return kGroup * rows.width * (1 + (rows.count + kBlock - 1) / kBlock); }

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace primal::kernels {

HWY_EXPORT(sums_float);
HWY_EXPORT(sums_double);
HWY_EXPORT(gradients_float);
HWY_EXPORT(gradients_double);
HWY_EXPORT(average_float);
HWY_EXPORT(average_double);
HWY_EXPORT(average_backward_float);
HWY_EXPORT(average_backward_double);
HWY_EXPORT(backward_space);

void fading_sums(const float* x, ScanRows rows, Scales<float> scales, float* sums) {
  HWY_DYNAMIC_DISPATCH(sums_float)(x, rows, scales, sums);
}
void fading_sums(const double* x, ScanRows rows, Scales<double> scales, double* sums) {
  HWY_DYNAMIC_DISPATCH(sums_double)(x, rows, scales, sums);
}
void fading_gradients(const float* gradient, ScanRows rows, Scales<float> scales, float* sums) {
  HWY_DYNAMIC_DISPATCH(gradients_float)(gradient, rows, scales, sums);
}
void fading_gradients(const double* gradient, ScanRows rows, Scales<double> scales, double* sums) {
  HWY_DYNAMIC_DISPATCH(gradients_double)(gradient, rows, scales, sums);
}
void moving_average(const float* x, ScanRows rows, Scales<float> scales, const float* skip, bool add, float* sums,
                    float* from_zero, float* y) {
  HWY_DYNAMIC_DISPATCH(average_float)(x, rows, scales, skip, add, sums, from_zero, y);
}
void moving_average(const double* x, ScanRows rows, Scales<double> scales, const double* skip, bool add, double* sums,
                    double* from_zero, double* y) {
  HWY_DYNAMIC_DISPATCH(average_double)(x, rows, scales, skip, add, sums, from_zero, y);
}
int64_t moving_average_backward_space(ScanRows rows) { return HWY_DYNAMIC_DISPATCH(backward_space)(rows); }
void moving_average_backward(const float* x, const float* y_gradient, ScanRows rows, Scales<float> scales,
                             const float* skip, bool add, const float* before, const float* after, float* x_gradient,
                             ScaleGradients<float> gradients, float* space) {
  HWY_DYNAMIC_DISPATCH(average_backward_float)
  (x, y_gradient, rows, scales, skip, add, before, after, x_gradient, gradients, space);
}
void moving_average_backward(const double* x, const double* y_gradient, ScanRows rows, Scales<double> scales,
                             const double* skip, bool add, const double* before, const double* after,
                             double* x_gradient, ScaleGradients<double> gradients, double* space) {
  HWY_DYNAMIC_DISPATCH(average_backward_double)
  (x, y_gradient, rows, scales, skip, add, before, after, x_gradient, gradients, space);
}

}  // namespace primal::kernels
#endif
