// Sequences of small numbers with labels: what the readers of text, images and expressions give.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace primal::data {

/// Examples of one part of a data set. An example is one sequence, or two that are judged together, and a label. A
/// token is a byte: of a text, a grey value, the number of a symbol. What id a model gives it is not known here.
struct TokenSet {
  void add(int64_t label, std::span<const uint8_t> sequence);
  void add(int64_t label, std::span<const uint8_t> first, std::span<const uint8_t> second);

  int64_t examples() const { return static_cast<int64_t>(labels.size()); }
  /// which: 0, or 1 for the second of a pair.
  std::span<const uint8_t> sequence(int64_t example, int64_t which = 0) const;
  int64_t length(int64_t example, int64_t which = 0) const { return std::ssize(sequence(example, which)); }

  int64_t per_example = 1;             ///< sequences: 1 or 2
  std::vector<std::string> classes{};  ///< names of the labels
  std::vector<uint8_t> labels{};
  std::vector<uint64_t> ends{};  ///< of each sequence in bytes
  std::vector<uint8_t> bytes{};  ///< of all sequences, one after another
};

/// These examples, in this order.
TokenSet subset(const TokenSet& set, std::span<const int64_t> examples);

/// Adds the examples of another set of the same kind.
void append(TokenSet& set, const TokenSet& more);

/// With the first `tokens` of each sequence.
TokenSet cut(TokenSet set, int64_t tokens);

/// Changes with any token, label or name of a class.
std::string fingerprint_of(const TokenSet& set);

}  // namespace primal::data
