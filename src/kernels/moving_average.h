// Fading sums over time, m = a m + x, several time scales at once, and what is made of them; with gradients.
//
// A call passes the rows of at most kScanRows tokens. Over longer stretches its sums would lose digits: whoever calls
// carries them on in double (ops/moving_average/scan.h).
#pragma once

#include <cstdint>

namespace primal::kernels {

constexpr int64_t kScanRows = 64;

/// The rows of some tokens in the order in which they are passed: row i begins at offset[i].
struct ScanRows {
  const int64_t* offset;
  int64_t count;  ///< at most kScanRows
  int64_t width;  ///< channels
};

/// The time scales. Numbers of scale i begin at i * stride, also those of the sums below.
template <typename T>
struct Scales {
  int64_t count;
  int64_t stride;
  const T* decay;   ///< a
  const T* weight;  ///< w
};

/// sums = a sums + x over all rows.
void fading_sums(const float* x, ScanRows rows, Scales<float> scales, float* sums);
void fading_sums(const double* x, ScanRows rows, Scales<double> scales, double* sums);

/// stream: past the caches, for tensors that no cache holds; y and its rows must begin on 64-byte boundaries.
enum class AverageOutput { begin, add, stream };

/// sums = a sums + x and y = skip x + w sums, for each row; to add: y += w sums instead.
/// sums: those before the first row; after the last on return. from_zero: the same fading sums, for a caller who
/// wants those of these rows alone, or null. skip: [width] or null, for 0. y: rows where those of x are.
void moving_average(const float* x, ScanRows rows, Scales<float> scales, const float* skip, AverageOutput output,
                    float* sums, float* from_zero, float* y);
void moving_average(const double* x, ScanRows rows, Scales<double> scales, const double* skip, AverageOutput output,
                    double* sums, double* from_zero, double* y);

/// What moving_average_backward adds to: sums over the rows, of each channel.
template <typename T>
struct ScaleGradients {
  T* decay;   ///< of a, still to be multiplied by w
  T* weight;  ///< of w
  T* skip;    ///< [width] or null
};

/// Numbers of work space that it wants.
int64_t moving_average_backward_space(ScanRows rows);

/// q = a q + y_gradient from the last row to the first: the same scan run backwards. x_gradient = skip y_gradient + w
/// q; with `add` x_gradient += w q. before: the sums before the first row; after: q of the row behind the last.
/// y_gradient and x_gradient have their rows where x has them.
void moving_average_backward(const float* x, const float* y_gradient, ScanRows rows, Scales<float> scales,
                             const float* skip, bool add, const float* before, const float* after, float* x_gradient,
                             ScaleGradients<float> gradients, float* space);
void moving_average_backward(const double* x, const double* y_gradient, ScanRows rows, Scales<double> scales,
                             const double* skip, bool add, const double* before, const double* after,
                             double* x_gradient, ScaleGradients<double> gradients, double* space);

}  // namespace primal::kernels
