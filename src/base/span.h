// A stretch of training, as people say it: "100 epochs", "5000 steps".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace primal::base {

enum class SpanUnit { steps, epochs };

struct Span {
  int64_t count = 0;
  SpanUnit unit = SpanUnit::steps;

  bool operator==(const Span&) const = default;
};

inline Span steps(int64_t count) { return {count, SpanUnit::steps}; }
inline Span epochs(int64_t count) { return {count, SpanUnit::epochs}; }

/// "5000 steps", "1 epoch", or a bare number, which counts `bare`. Nothing for any other text.
std::optional<Span> parse_span(std::string_view text, SpanUnit bare);
/// "5000 steps", "1 epoch".
std::string to_text(Span span);

}  // namespace primal::base
