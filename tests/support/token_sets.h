// What is in a TokenSet, in a form to compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokens/token_set.h"

namespace primal::tests {

inline std::string text_of(const data::TokenSet& set, int64_t example, int64_t which = 0) {
  const auto bytes = set.sequence(example, which);
  return {bytes.begin(), bytes.end()};
}

/// First sequences of all examples.
inline std::vector<std::string> texts_of(const data::TokenSet& set) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < set.examples(); ++i) texts.push_back(text_of(set, i));
  return texts;
}

/// How many examples each class has.
inline std::vector<int64_t> examples_by_class(const data::TokenSet& set) {
  std::vector<int64_t> counts(set.classes.size());
  for (const uint8_t label : set.labels) ++counts.at(label);
  return counts;
}

}  // namespace primal::tests
