#include "analysis/row_triangle.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace primal::analysis {

namespace {

// Rows that are decomposed at once; of more, blocks leave a triangle each.
constexpr int64_t kRows = 4096;

}  // namespace

at::Tensor row_triangle(const at::Tensor& rows) {
  at::Tensor triangle;
  int64_t first = 0;
  do {  // once also for no rows
    at::Tensor block = rows.narrow(-2, first, std::min(kRows, rows.size(-2) - first)).to(at::kDouble);
    if (triangle.defined()) block = at::cat({triangle, block}, -2);
    triangle = std::get<1>(at::linalg_qr(block, "r"));
    first += kRows;
  } while (first < rows.size(-2));
  return triangle;
}

}  // namespace primal::analysis
