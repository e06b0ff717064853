// Evaluations of language models looked at token by token: where in a block, in which passages, and what they write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/evaluation.h"

namespace primal::run {

/// Mean -log p of the tokens at places from .. to of a block, counted from 0.
struct PlaceLoss {
  int64_t from = 0, to = 0;
  double loss = 0;
};

/// A piece of text and how surprising it was.
struct ScoredToken {
  std::string text;
  double nll = 0;
};

struct Passage {
  std::vector<ScoredToken> tokens;
};

/// What a model wrote.
struct TextSample {
  std::string prompt, text;
};

/// Details of an evaluation, under the names of the members.
struct TextDetails {
  std::vector<PlaceLoss> by_place{};
  std::vector<Passage> most_surprising{}, least_surprising{};
  std::vector<TextSample> samples{};
};
/// An empty list is left out. Bytes that are no UTF-8 become U+FFFD.
void put(Evaluation& evaluation, const TextDetails& details);
/// What is missing is empty. Throws Error, which `where` begins, for what is of another kind.
TextDetails text_details(const Evaluation& evaluation, const std::string& where = "evaluation");

}  // namespace primal::run
