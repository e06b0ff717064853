#include "base/span.h"

#include <charconv>

#include "base/text.h"

namespace primal::base {

std::optional<Span> parse_span(std::string_view text, SpanUnit bare) {
  text = trim(text);
  Span span{0, bare};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), span.count);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit = trim(text.substr(static_cast<size_t>(end - text.data())));
  if (unit.empty()) return span;
  if (unit == "step" || unit == "steps") return steps(span.count);
  if (unit == "epoch" || unit == "epochs") return epochs(span.count);
  return std::nullopt;
}

std::string to_text(Span span) {
  return std::to_string(span.count) + (span.unit == SpanUnit::steps ? " step" : " epoch") +
         (span.count == 1 ? "" : "s");
}

}  // namespace primal::base
