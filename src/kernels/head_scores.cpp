// Compiled once for every CPU target by Highway's foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/head_scores.cpp"
#include "kernels/head_scores.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

constexpr float kSmallestLength = 1e-12f;

HWY_INLINE float dot(const float* a, const float* b, int64_t count) {
  Vector sum = hn::Zero(Floats());
  for_each_vector(count,
                  [&](int64_t i, auto lanes) HWY_ATTR { sum = hn::MulAdd(lanes.load(a + i), lanes.load(b + i), sum); });
  return sum_of_lanes(sum);
}

void inverse_lengths_of_rows(const float* x, HeadShape shape, float* inverse) {
  for (int64_t i = 0; i < shape.rows; ++i, x += shape.stride) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      const float* piece = x + h * shape.width;
      *inverse++ = 1 / std::max(std::sqrt(dot(piece, piece, shape.width)), kSmallestLength);
    }
  }
}

void negated_multiples_of_rows(const float* x, HeadShape shape, const float* factor, float* out, int64_t out_stride) {
  for (int64_t i = 0; i < shape.rows; ++i, x += shape.stride, out += out_stride) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      const Vector scale = hn::Set(Floats(), -*factor++);
      const float* from = x + h * shape.width;
      float* to = out + h * shape.width;
      for_each_vector(shape.width, [&](int64_t c, auto lanes)
                                       HWY_ATTR { lanes.store(hn::Mul(scale, lanes.load(from + c)), to + c); });
    }
  }
}

void weighted_squares_of_rows(const float* scores, ScoreShape shape, const float* first_weight,
                              const float* second_weight, float* first, float* second) {
  const int64_t width = shape.row_width();
  for (int64_t i = 0; i < shape.rows; ++i, scores += width) {
    Vector first_sum = hn::Zero(Floats()), second_sum = first_sum;
    for_each_vector(width, [&](int64_t j, auto lanes) HWY_ATTR {
      const Vector s = lanes.load(scores + j), square = hn::Mul(s, s);
      first_sum = hn::MulAdd(lanes.load(first_weight + j), square, first_sum);
      second_sum = hn::MulAdd(lanes.load(second_weight + j), square, second_sum);
    });
    first[i] = sum_of_lanes(first_sum);
    second[i] = sum_of_lanes(second_sum);
  }
}

void add_squares_of_rows(const float* scores, ScoreShape shape, float* sums) {
  const int64_t width = shape.row_width();
  for (int64_t i = 0; i < shape.rows; ++i, scores += width) {
    for_each_vector(width, [&](int64_t j, auto lanes) HWY_ATTR {
      const Vector s = lanes.load(scores + j);
      lanes.store(hn::MulAdd(s, s, lanes.load(sums + j)), sums + j);
    });
  }
}

void score_gradient_of_rows(const float* scores, ScoreShape shape, const float* slope, const float* inverse,
                            float* gradient, float* along) {
  const int64_t width = shape.row_width(), pieces = 2 * shape.heads;
  for (int64_t i = 0; i < shape.rows; ++i, scores += width, gradient += width) {
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const int64_t first = piece * shape.rank;
      const int64_t where = i * pieces + (piece % 2) * shape.heads + piece / 2;
      const float scale = inverse[where];
      Vector sum = hn::Zero(Floats());
      for_each_vector(shape.rank, [&](int64_t j, auto lanes) HWY_ATTR {
        const Vector s = lanes.load(scores + first + j);
        const Vector g = hn::MulAdd(lanes.load(slope + first + j), s, lanes.load(gradient + first + j));
        sum = hn::MulAdd(s, g, sum);
        lanes.store(hn::Mul(g, hn::Set(Floats(), scale)), gradient + first + j);
      });
      along[where] = scale < 1 / kSmallestLength ? sum_of_lanes(sum) * scale * scale : 0.0f;
    }
  }
}

void add_column_sums_of_rows(const float* x, int64_t rows, int64_t width, int64_t stride, float* sums) {
  for (int64_t i = 0; i < rows; ++i, x += stride) {
    for_each_vector(width, [&](int64_t j, auto lanes)
                               HWY_ATTR { lanes.store(hn::Add(lanes.load(sums + j), lanes.load(x + j)), sums + j); });
  }
}

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace primal::kernels {

HWY_EXPORT(inverse_lengths_of_rows);
HWY_EXPORT(negated_multiples_of_rows);
HWY_EXPORT(weighted_squares_of_rows);
HWY_EXPORT(add_squares_of_rows);
HWY_EXPORT(score_gradient_of_rows);
HWY_EXPORT(add_column_sums_of_rows);

void inverse_lengths(const float* x, HeadShape shape, float* inverse) {
  HWY_DYNAMIC_DISPATCH(inverse_lengths_of_rows)(x, shape, inverse);
}
void negated_multiples(const float* x, HeadShape shape, const float* factor, float* out, int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(negated_multiples_of_rows)(x, shape, factor, out, out_stride);
}
void weighted_squares(const float* scores, ScoreShape shape, const float* first_weight, const float* second_weight,
                      float* first, float* second) {
  HWY_DYNAMIC_DISPATCH(weighted_squares_of_rows)(scores, shape, first_weight, second_weight, first, second);
}
void add_squares(const float* scores, ScoreShape shape, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_squares_of_rows)(scores, shape, sums);
}
void score_gradient(const float* scores, ScoreShape shape, const float* slope, const float* inverse, float* gradient,
                    float* along) {
  HWY_DYNAMIC_DISPATCH(score_gradient_of_rows)(scores, shape, slope, inverse, gradient, along);
}
void add_column_sums(const float* x, int64_t rows, int64_t width, int64_t stride, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_column_sums_of_rows)(x, rows, width, stride, sums);
}

}  // namespace primal::kernels
#endif
