#include "ops/fused/read_tokens.h"

#include <ATen/ATen.h>

namespace primal::ops::fused {

ReadTokens::ReadTokens(const OptionalTensor& unread) {
  if (!unread) return;
  const at::Tensor dense = unread->contiguous();
  const bool* skip = dense.const_data_ptr<bool>();
  const int64_t tokens = dense.numel();
  if (std::none_of(skip, skip + tokens, [](bool s) { return s; })) return;
  before_.reserve(static_cast<size_t>(tokens) + 1);
  before_.push_back(0);
  for (int64_t t = 0; t < tokens; ++t) before_.push_back(before_.back() + (skip[t] ? 0 : 1));
}

void ReadTokens::gather(Range range, int64_t width, const float* tokens, float* rows) const {
  for_each_run(range, [&](Range run, int64_t row) {
    std::copy_n(tokens + (run.begin - range.begin) * width, run.size() * width, rows + row * width);
  });
}

void ReadTokens::scatter(Range range, int64_t width, const float* rows, float* tokens) const {
  std::fill_n(tokens, range.size() * width, 0.0f);
  for_each_run(range, [&](Range run, int64_t row) {
    std::copy_n(rows + row * width, run.size() * width, tokens + (run.begin - range.begin) * width);
  });
}

}  // namespace primal::ops::fused
