#include "data/tokens/listops_expression.h"

#include <primal/error.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace primal::data {

namespace {

constexpr int64_t kRootDepth = 1, kLeafDepth = 10;  // so that at most nine operators are inside one another
constexpr double kOperatorShare = 0.25;             // of the nodes above kLeafDepth
constexpr uint64_t kFewestArguments = 2, kMostArguments = 10;

bool is_listops_operator(uint8_t token) { return token >= kListOpsMin && token <= kListOpsSum; }

class ListOpsDraw {
 public:
  ListOpsDraw(base::Random& random, int64_t longest, std::vector<uint8_t>& tokens)
      : random_(random), longest_(longest), tokens_(tokens) {}

  /// False as soon as the expression is bound to become too long.
  bool node(int64_t depth) {
    if (depth == kLeafDepth || random_.uniform() > kOperatorShare) {
      tokens_.push_back(static_cast<uint8_t>(random_.below(10)));
      return true;
    }
    const uint64_t arguments = kFewestArguments + random_.below(kMostArguments - kFewestArguments + 1);
    at_least_ += static_cast<int64_t>(arguments) + 1;  // a token for each, and the closing bracket
    if (at_least_ > longest_) return false;
    tokens_.push_back(static_cast<uint8_t>(kListOpsMin + random_.below(4)));
    for (uint64_t i = 0; i < arguments; ++i) {
      if (!node(depth + 1)) return false;
    }
    tokens_.push_back(kListOpsEnd);
    return true;
  }

 private:
  base::Random& random_;
  int64_t longest_;
  std::vector<uint8_t>& tokens_;
  int64_t at_least_ = 1;  // tokens that the whole expression will have at least
};

int64_t listops_median(std::span<const uint8_t> digits) {
  std::array<int64_t, 10> counts{};
  for (const uint8_t digit : digits) ++counts[digit];
  const auto ranked = [&counts](int64_t rank) {
    int64_t digit = 0;
    while (rank >= counts[digit]) rank -= counts[digit++];
    return digit;
  };
  return (ranked((std::ssize(digits) - 1) / 2) + ranked(std::ssize(digits) / 2)) / 2;
}

int64_t apply_listops(uint8_t operation, std::span<const uint8_t> digits) {
  if (operation == kListOpsMin) return *std::ranges::min_element(digits);
  if (operation == kListOpsMax) return *std::ranges::max_element(digits);
  if (operation == kListOpsMedian) return listops_median(digits);
  return std::accumulate(digits.begin(), digits.end(), int64_t{0}) % 10;
}

template <typename... Parts>
[[noreturn]] void fail_at_listops_token(size_t index, const Parts&... parts) {
  base::fail("listops", "token ", index + 1, ": ", parts...);
}

}  // namespace

bool draw_listops(base::Random& random, const ListOpsLimits& limits, std::vector<uint8_t>& tokens) {
  tokens.clear();
  return ListOpsDraw(random, limits.longest, tokens).node(kRootDepth) && std::ssize(tokens) >= limits.shortest;
}

int64_t evaluate_listops(std::span<const uint8_t> tokens) {
  if (tokens.empty()) throw Error("listops: expected an expression, got no token");
  std::vector<uint8_t> open;  // operators that wait for their closing bracket, each with the arguments it has so far
  for (size_t i = 0; i < tokens.size(); ++i) {
    const uint8_t token = tokens[i];
    if (i > 0 && !is_listops_operator(open.front())) {
      fail_at_listops_token(i, "expected the end after a complete expression, got one more token");
    }
    if (token < kListOpsEnd) {
      open.push_back(token);
      continue;
    }
    if (token > kListOpsEnd) fail_at_listops_token(i, "expected a number up to 14, got ", int{token});
    const auto operation = std::find_if(open.rbegin(), open.rend(), is_listops_operator);
    if (operation == open.rend()) fail_at_listops_token(i, "expected an operator or a digit, got \"]\"");
    if (operation == open.rbegin()) {
      fail_at_listops_token(i, "expected an argument of ", kListOpsTokens[*operation], ", got \"]\"");
    }
    const int64_t value = apply_listops(*operation, {operation.base(), open.end()});
    open.erase(operation.base() - 1, open.end());
    open.push_back(static_cast<uint8_t>(value));
  }
  if (is_listops_operator(open.front())) {
    base::fail("listops", "expected a \"]\" for ", kListOpsTokens[open.front()], ", got the end after ", tokens.size(),
               tokens.size() == 1 ? " token" : " tokens");
  }
  return open.front();
}

std::optional<uint8_t> listops_root(std::span<const uint8_t> tokens) {
  if (tokens.empty() || !is_listops_operator(tokens.front())) return std::nullopt;
  return tokens.front();
}

namespace {

/// How many arguments each operator has, in the order of the operators.
std::vector<int64_t> listops_arguments(std::span<const uint8_t> tokens) {
  std::vector<int64_t> counts;
  std::vector<size_t> open;  // operators, as places in counts
  for (const uint8_t token : tokens) {
    if (token == kListOpsEnd) {
      open.pop_back();
      continue;
    }
    if (!open.empty()) ++counts[open.back()];
    if (!is_listops_operator(token)) continue;
    open.push_back(counts.size());
    counts.push_back(0);
  }
  return counts;
}

}  // namespace

void append_listops_source(std::span<const uint8_t> tokens, std::string& text) {
  const std::vector<int64_t> arguments = listops_arguments(tokens);
  auto count = arguments.begin();
  int64_t depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const uint8_t token = tokens[i];
    if (i > 0) text += ' ';
    if (is_listops_operator(token)) {
      for (int64_t k = *count++; k >= 0; --k) text += "( ";  // one for each argument, one for the closing bracket
      ++depth;
    }
    text += kListOpsTokens[token];
    if (is_listops_operator(token)) continue;
    if (token == kListOpsEnd) {
      text += " )";
      --depth;
    }
    if (depth > 0) text += " )";  // what ends here is an argument
  }
}

}  // namespace primal::data
