// The examples that a report shows: pictures of wrong and right answers, texts of wrong ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "run/case_details.h"
#include "tasks/lra/examined_set.h"
#include "tasks/lra/sources.h"

namespace primal::tasks {

/// Of images: the wrong answers that the model is surest of, and as many right ones, evenly drawn from the set. At most
/// 12 of each; fewer of large images.
std::vector<run::PictureCase> pictures_of(const ExaminedSet& examined, const LraSource& source);

/// Of texts: the 10 wrong answers that the model is surest of, with the beginnings of their texts.
std::vector<run::TextCase> texts_of(const ExaminedSet& examined, const LraSource& source);

/// At most `most` bytes as UTF-8, cut between characters, then with an ellipsis. What is no UTF-8 becomes U+FFFD.
std::string beginning_of(std::span<const uint8_t> bytes, size_t most);

}  // namespace primal::tasks
