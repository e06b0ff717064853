// Compiled once for every CPU target by Highway's foreach_target; the vectors run over channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/moving_average.cpp"
#include "kernels/moving_average.h"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

// Rows that pass while the sums of a vector of channels stay in registers. Their memory is read from end to end, since
// the next vector of channels follows; the CPU does not see the rows of the next block coming, so they are asked for.
constexpr int64_t kBlock = 16;
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

// How far behind a row that of the next block lies, if the rows are evenly spaced.
HWY_INLINE int64_t next_block(ScanRows rows) { return rows.count > 1 ? kBlock * (rows.offset[1] - rows.offset[0]) : 0; }

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
    const int64_t ahead = next_block(rows);
    for_each_block<T>(rows, [&](int64_t first, int64_t count, int64_t c, auto lanes) HWY_ATTR {
      PerScale<T, n> m, a;
      m.load(group_sums + c, group.stride, lanes);
      a.load(group.decay + c, group.stride, lanes);
      for (int64_t t = first; t < first + count; ++t) {
        const auto in = lanes.load(x + rows.offset[t] + c);
        hwy::Prefetch(x + rows.offset[t] + c + ahead);
        for (int64_t i = 0; i < n; ++i) m.v[i] = hn::MulAdd(a.v[i], m.v[i], in);
      }
      m.store(group_sums + c, group.stride, lanes);
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

// What becomes of y: begun, added to, or begun and written past the caches.
enum class Output { begin, add, stream };

// Some rows of a vector of channels. Sums in local arrays and no lambda: then they stay in registers.
template <typename T, int64_t kScales, Output kOutput, bool kFromZero, typename Lanes>
HWY_INLINE void average_block(const T* x, const int64_t* offset, int64_t count, int64_t ahead, Scales<T> scales,
                              const T* skip, T* sums, T* from_zero, T* y, Lanes lanes) {
  using Tag = hn::ScalableTag<T>;
  PerScale<T, kScales> m, l, a, w;
  m.load(sums, scales.stride, lanes);
  a.load(scales.decay, scales.stride, lanes);
  w.load(scales.weight, scales.stride, lanes);
  if constexpr (kFromZero) l.load(from_zero, scales.stride, lanes);
  const auto factor = skip == nullptr ? hn::Zero(Tag()) : lanes.load(skip);
  for (int64_t t = 0; t < count; ++t) {
    const auto in = lanes.load(x + offset[t]);
    hwy::Prefetch(x + offset[t] + ahead);
    auto out = kOutput == Output::add ? lanes.load(y + offset[t]) : hn::Mul(factor, in);
    for (int64_t i = 0; i < kScales; ++i) {
      m.v[i] = hn::MulAdd(a.v[i], m.v[i], in);
      out = hn::MulAdd(w.v[i], m.v[i], out);
      if constexpr (kFromZero) l.v[i] = hn::MulAdd(a.v[i], l.v[i], in);
    }
    if constexpr (kOutput == Output::stream && std::is_same_v<Lanes, WholeVectorOf<T>>) {
      hn::Stream(out, Tag(), y + offset[t]);
    } else {
      lanes.store(out, y + offset[t]);
    }
  }
  m.store(sums, scales.stride, lanes);
  if constexpr (kFromZero) l.store(from_zero, scales.stride, lanes);
}

template <typename T, int64_t kScales, Output kOutput, bool kFromZero>
void average_rows(const T* x, ScanRows rows, Scales<T> scales, const T* skip, T* sums, T* from_zero, T* y) {
  for_each_block<T>(rows, [&, ahead = next_block(rows)](int64_t first, int64_t count, int64_t c, auto lanes) HWY_ATTR {
    average_block<T, kScales, kOutput, kFromZero>(
        x + c, rows.offset + first, count, ahead, {kScales, scales.stride, scales.decay + c, scales.weight + c},
        skip == nullptr ? nullptr : skip + c, sums + c, kFromZero ? from_zero + c : nullptr, y + c, lanes);
  });
  if constexpr (kOutput == Output::stream) hwy::FlushStream();
}

template <typename T>
void average(const T* x, ScanRows rows, Scales<T> scales, const T* skip, AverageOutput output, T* sums, T* from_zero,
             T* y) {
  if (scales.count == 0 && output != AverageOutput::add) skip_rows(x, rows, skip, y);
  for_each_group(scales, [&](auto n, Scales<T> group, int64_t first) HWY_ATTR {
    T* own_sums = sums + first * group.stride;
    T* own_from_zero = from_zero == nullptr ? nullptr : from_zero + first * group.stride;
    auto* run = average_rows<T, n, Output::begin, false>;
    if (output == AverageOutput::add || first > 0) {
      run = from_zero == nullptr ? average_rows<T, n, Output::add, false> : average_rows<T, n, Output::add, true>;
    } else if (output == AverageOutput::stream && scales.count <= kGroup) {
      run = from_zero == nullptr ? average_rows<T, n, Output::stream, false> : average_rows<T, n, Output::stream, true>;
    } else if (from_zero != nullptr) {
      run = average_rows<T, n, Output::begin, true>;
    }
    run(x, rows, group, skip, own_sums, own_from_zero, y);
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

// As average_block. starts: the sums before the first row; later: q of the row behind the last, then of the first.
template <typename T, int64_t kScales, bool kAdd, typename Lanes>
HWY_INLINE void average_block_backward(const T* x, const T* y_gradient, const int64_t* offset, int64_t count,
                                       int64_t ahead, Scales<T> scales, const T* skip, const T* starts, T* later,
                                       int64_t width, T* x_gradient, ScaleGradients<T> gradients, Lanes lanes) {
  const int64_t stride = scales.stride;
  PerScale<T, kScales> a;
  a.load(scales.decay, stride, lanes);
  HWY_ALIGN T m[(kBlock + 1) * kScales * hn::MaxLanes(hn::ScalableTag<T>())];  // before each row, and after the last
  const auto lane_count = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const WholeVectorOf<T> all;
  {
    PerScale<T, kScales> sums;
    sums.load(starts, width, lanes);
    sums.store(m, lane_count, all);
    for (int64_t t = 0; t < count; ++t) {
      const auto in = lanes.load(x + offset[t]);
      for (int64_t i = 0; i < kScales; ++i) sums.v[i] = hn::MulAdd(a.v[i], sums.v[i], in);
      sums.store(m + (t + 1) * kScales * lane_count, lane_count, all);
    }
  }
  PerScale<T, kScales> q, w, decay_sum, weight_sum;
  q.load(later, width, lanes);
  w.load(scales.weight, stride, lanes);
  decay_sum.load(gradients.decay, stride, lanes);
  weight_sum.load(gradients.weight, stride, lanes);
  const auto zero = hn::Zero(hn::ScalableTag<T>());
  const bool skips = !kAdd && skip != nullptr;
  const auto factor = skips ? lanes.load(skip) : zero;
  auto skip_sum = skips ? lanes.load(gradients.skip) : zero;
  for (int64_t t = count - 1; t >= 0; --t) {
    const auto g = lanes.load(y_gradient + offset[t]);
    hwy::Prefetch(y_gradient + offset[t] - ahead);
    hwy::Prefetch(x + offset[t] - ahead);
    auto out = kAdd ? lanes.load(x_gradient + offset[t]) : hn::Mul(factor, g);
    for (int64_t i = 0; i < kScales; ++i) {
      q.v[i] = hn::MulAdd(a.v[i], q.v[i], g);
      out = hn::MulAdd(w.v[i], q.v[i], out);
      const T* sums = m + (t * kScales + i) * lane_count;
      weight_sum.v[i] = hn::MulAdd(g, all.load(sums + kScales * lane_count), weight_sum.v[i]);
      decay_sum.v[i] = hn::MulAdd(q.v[i], all.load(sums), decay_sum.v[i]);
    }
    if constexpr (!kAdd) skip_sum = hn::MulAdd(g, lanes.load(x + offset[t]), skip_sum);
    lanes.store(out, x_gradient + offset[t]);
  }
  q.store(later, width, lanes);
  decay_sum.store(gradients.decay, stride, lanes);
  weight_sum.store(gradients.weight, stride, lanes);
  if (skips) lanes.store(skip_sum, gradients.skip);
}

template <typename T, int64_t kScales, bool kAdd>
void average_rows_backward(const T* x, const T* y_gradient, ScanRows rows, Scales<T> scales, const T* skip,
                           const T* starts, T* later, T* x_gradient, ScaleGradients<T> gradients) {
  for (int64_t first = (rows.count - 1) / kBlock * kBlock; first >= 0; first -= kBlock) {
    const T* block_starts = starts + first / kBlock * kScales * rows.width;
    for_each_vector<T>(rows.width, [&](int64_t c, auto lanes) HWY_ATTR {
      average_block_backward<T, kScales, kAdd>(
          x + c, y_gradient + c, rows.offset + first, std::min(kBlock, rows.count - first), next_block(rows),
          {kScales, scales.stride, scales.decay + c, scales.weight + c}, skip == nullptr ? nullptr : skip + c,
          block_starts + c, later + c, rows.width, x_gradient + c,
          {gradients.decay + c, gradients.weight + c, gradients.skip + c}, lanes);
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
  T* later = space;
  T* starts = space + kGroup * rows.width;
  for_each_group(scales, [&](auto n, Scales<T> group, int64_t first) HWY_ATTR {
    const int64_t offset = first * group.stride;
    for (int64_t i = 0; i < n; ++i) {
      std::copy_n(after + offset + i * group.stride, rows.width, later + i * rows.width);
    }
    sums_before_blocks<T, n>(x, rows, group, before + offset, starts);
    const auto backward = add || first > 0 ? average_rows_backward<T, n, true> : average_rows_backward<T, n, false>;
    backward(x, y_gradient, rows, group, skip, starts, later, x_gradient,
             {gradients.decay + offset, gradients.weight + offset, gradients.skip});
  });
}

// Highway dispatches plain functions, not templates.
void sums_float(const float* x, ScanRows rows, Scales<float> scales, float* sums) {
  sums_of_rows(x, rows, scales, sums);
}
void sums_double(const double* x, ScanRows rows, Scales<double> scales, double* sums) {
  sums_of_rows(x, rows, scales, sums);
}
void average_float(const float* x, ScanRows rows, Scales<float> scales, const float* skip, AverageOutput output,
                   float* sums, float* from_zero, float* y) {
  average(x, rows, scales, skip, output, sums, from_zero, y);
}
void average_double(const double* x, ScanRows rows, Scales<double> scales, const double* skip, AverageOutput output,
                    double* sums, double* from_zero, double* y) {
  average(x, rows, scales, skip, output, sums, from_zero, y);
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
void moving_average(const float* x, ScanRows rows, Scales<float> scales, const float* skip, AverageOutput output,
                    float* sums, float* from_zero, float* y) {
  HWY_DYNAMIC_DISPATCH(average_float)(x, rows, scales, skip, output, sums, from_zero, y);
}
void moving_average(const double* x, ScanRows rows, Scales<double> scales, const double* skip, AverageOutput output,
                    double* sums, double* from_zero, double* y) {
  HWY_DYNAMIC_DISPATCH(average_double)(x, rows, scales, skip, output, sums, from_zero, y);
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
