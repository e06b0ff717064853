// Expressions of ListOps, a task of the Long Range Arena: [MAX 2 [MIN 8 5 ] [SM 7 6 ] ] is 5.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace primal::data {

/// A token is a place in this list. A digit is its own number.
inline constexpr std::array<std::string_view, 15> kListOpsTokens = {"0", "1", "2",    "3",    "4",    "5",   "6", "7",
                                                                    "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]"};
inline constexpr uint8_t kListOpsMin = 10, kListOpsMax = 11, kListOpsMedian = 12, kListOpsSum = 13, kListOpsEnd = 14;

inline constexpr std::string_view kListOpsHeader = "Source\tTarget";  ///< first line of a file

/// Tokens of an expression that is kept, both ends included. The defaults are those of the Long Range Arena.
struct ListOpsLimits {
  int64_t shortest = 501;
  int64_t longest = 1999;
};

/// Draws an expression by the rules of the Long Range Arena and writes it over `tokens`. False if it is too short or
/// too long, as about eleven of twelve are: an expression that has become too long is not finished.
bool draw_listops(base::Random& random, const ListOpsLimits& limits, std::vector<uint8_t>& tokens);

/// Its value, a digit. The median of an even number of arguments is the mean of the middle two, rounded down; the sum
/// is taken modulo 10. Throws primal::Error if the tokens are not one complete expression.
int64_t evaluate_listops(std::span<const uint8_t> tokens);

/// The outermost operator, kListOpsMin to kListOpsSum; none if the expression is a digit.
std::optional<uint8_t> listops_root(std::span<const uint8_t> tokens);

/// Appends a complete expression as the files of the Long Range Arena write it: every argument is taken by a pair of
/// parentheses of its own, ( ( ( [MIN 8 ) 5 ) ] ). T tokens become 3 T - 2.
void append_listops_source(std::span<const uint8_t> tokens, std::string& text);

}  // namespace primal::data
