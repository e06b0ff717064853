// Any bytes as a file of ListOps.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/tokens/listops_expression.h"
#include "data/tokens/listops_reader.h"
#include "token_set_fuzz.h"

namespace {

using primal::data::TokenSet;
using primal::fuzz::require_of_tokens;

std::optional<TokenSet> read(std::string_view text) {
  return primal::fuzz::read_tokens([&] {
    return primal::data::read_listops(primal::data::LineSource(std::string(primal::fuzz::kTokenFileName), text));
  });
}

std::optional<int64_t> evaluate(std::span<const uint8_t> tokens) {
  try {
    return primal::data::evaluate_listops(tokens);
  } catch (const primal::Error& error) {
    require_of_tokens(std::string_view(error.what()).starts_with("listops: "), "an error begins with the operation");
    return std::nullopt;
  }
}

/// A complete expression can be written as the released files have it, and is then read as it was.
void check_written(std::span<const uint8_t> tokens, int64_t value) {
  std::string text(primal::data::kListOpsHeader);
  text += '\n';
  primal::data::append_listops_source(tokens, text);
  const auto words = std::ranges::count(text, ' ') + 1;
  require_of_tokens(words == 3 * std::ssize(tokens) - 2, "T tokens are written as 3 T - 2");
  text += '\t' + std::to_string(value) + '\n';
  const std::optional<TokenSet> again = read(text);
  require_of_tokens(again && again->examples() == 1, "what is written can be read");
  require_of_tokens(std::ranges::equal(again->sequence(0), tokens), "what is written is read as it was");
  require_of_tokens(again->labels[0] == value, "the value is a label");
}

void check(const TokenSet& set, std::size_t text_size) {
  primal::fuzz::check_tokens(set, 1, primal::data::kMostListOpsTokens, text_size);
  for (int64_t i = 0; i < set.examples(); ++i) {
    const auto tokens = set.sequence(i);
    require_of_tokens(std::ranges::max(tokens) < primal::data::kListOpsTokens.size(), "a token is one of the list");
    const std::optional<int64_t> value = evaluate(tokens);
    if (!value) continue;
    require_of_tokens(*value >= 0 && *value <= 9, "a value is a digit");
    check_written(tokens, *value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const std::optional<TokenSet> set = read(text)) check(*set, size);
  return 0;
}
