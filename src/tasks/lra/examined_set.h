// A token set and what a model said of its examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokens/token_set.h"

namespace primal::tasks {

/// The set and the names must outlive it.
struct ExaminedSet {
  ExaminedSet(const data::TokenSet& examples, const std::vector<std::string>& names)
      : set(examples),
        classes(names),
        predicted(static_cast<size_t>(examples.examples()), -1),
        share(predicted.size(), 0) {}

  bool is_asked(int64_t example) const { return predicted[static_cast<size_t>(example)] >= 0; }
  bool is_right(int64_t example) const {
    return predicted[static_cast<size_t>(example)] == set.labels[static_cast<size_t>(example)];
  }

  const data::TokenSet& set;
  const std::vector<std::string>& classes;
  std::vector<int64_t> predicted;  ///< class of each example; -1: not asked
  std::vector<float> share;        ///< that the model gives this class; never NaN
};

}  // namespace primal::tasks
