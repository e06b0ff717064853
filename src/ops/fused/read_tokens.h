// The tokens of a layer whose output is read, and where their rows lie when the others are left out.
//
// A classifier drops the output of padded tokens, so the last layer need not compute it: at the published widths four
// fifths of a layer's arithmetic lie behind the attention scores, where no token sees another.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/attention/arguments.h"
#include "ops/fused/tiles.h"

namespace primal::ops::fused {

class ReadTokens {
 public:
  /// unread: [B, N] bool, or none: all are read.
  explicit ReadTokens(const OptionalTensor& unread);

  bool all() const { return before_.empty(); }
  /// The rows of the read tokens of a range; if all are read, the range itself.
  Range rows(Range tokens) const { return all() ? tokens : Range{row(tokens.begin), row(tokens.end)}; }

  /// body(tokens, row of the first, counted from the range's first row): runs of neighbouring tokens that are read.
  template <typename Body>
  void for_each_run(Range range, const Body& body) const {
    if (all()) return body(range, int64_t{0});
    for (int64_t begin = range.begin; begin < range.end;) {
      int64_t end = begin;
      while (end < range.end && is_read(end)) ++end;
      if (end > begin) body(Range{begin, end}, row(begin) - row(range.begin));
      begin = end + 1;
    }
  }

  /// Rows of the range's tokens -> rows of those that are read. Both may begin at the same place.
  void gather(Range range, int64_t width, const float* tokens, float* rows) const;
  /// The other way, with zeros for tokens that are not read.
  void scatter(Range range, int64_t width, const float* rows, float* tokens) const;

 private:
  int64_t row(int64_t token) const { return before_[static_cast<size_t>(token)]; }
  bool is_read(int64_t token) const { return row(token + 1) > row(token); }

  std::vector<int64_t> before_;  // for each token and the end: how many before it are read. Empty: all
};

}  // namespace primal::ops::fused
