#include "tasks/lra/cases.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace primal::tasks {

namespace {

constexpr int64_t kMostPictures = 12;       // wrong ones, and as many right ones
constexpr int64_t kPictureBytes = 1 << 15;  // of either; result.json stays below 100 kB
constexpr size_t kMostTexts = 10, kTextBytes = 400;

std::vector<int64_t> examples_that_are(const ExaminedSet& examined, bool right) {
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < examined.set.examples(); ++i) {
    if (examined.is_asked(i) && examined.is_right(i) == right) examples.push_back(i);
  }
  return examples;
}

// Those with the largest share; of the same share in their order.
std::vector<int64_t> surest_wrong(const ExaminedSet& examined, size_t most) {
  std::vector<int64_t> wrong = examples_that_are(examined, /*right=*/false);
  std::ranges::stable_sort(wrong, std::greater<>(),
                           [&](int64_t example) { return examined.share[static_cast<size_t>(example)]; });
  wrong.resize(std::min(wrong.size(), most));
  return wrong;
}

// The first, the last, and others at equal distances.
std::vector<int64_t> even_right(const ExaminedSet& examined, size_t most) {
  const std::vector<int64_t> right = examples_that_are(examined, /*right=*/true);
  const size_t count = std::min(right.size(), most);
  std::vector<int64_t> drawn;
  for (size_t i = 0; i < count; ++i) drawn.push_back(right[i * (right.size() - 1) / std::max<size_t>(count - 1, 1)]);
  return drawn;
}

run::CaseAnswer answer_to(const ExaminedSet& examined, int64_t example) {
  const auto at = static_cast<size_t>(example);
  return {.truth = examined.classes[examined.set.labels[at]],
          .predicted = examined.classes[static_cast<size_t>(examined.predicted[at])],
          .share = examined.share[at]};
}

// Images are squares; of a sequence that was cut the first rows, and black where the last one ends early.
run::PictureCase picture_of(const ExaminedSet& examined, int64_t example, int64_t width) {
  const auto pixels = examined.set.sequence(example);
  run::PictureCase picture{.answer = answer_to(examined, example),
                           .right = examined.is_right(example),
                           .width = width,
                           .height = std::max<int64_t>((std::ssize(pixels) + width - 1) / width, 1),
                           .grey = {pixels.begin(), pixels.end()}};
  picture.grey.resize(static_cast<size_t>(width * picture.height));
  return picture;
}

bool continues_a_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

}  // namespace

std::vector<run::PictureCase> pictures_of(const ExaminedSet& examined, const LraSource& source) {
  std::vector<run::PictureCase> pictures;
  if (!source.is_image) return pictures;
  const auto most = static_cast<size_t>(std::clamp<int64_t>(kPictureBytes / source.tokens, 1, kMostPictures));
  const auto width = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(source.tokens))));
  for (const auto& examples : {surest_wrong(examined, most), even_right(examined, most)}) {
    for (const int64_t example : examples) pictures.push_back(picture_of(examined, example, width));
  }
  return pictures;
}

std::vector<run::TextCase> texts_of(const ExaminedSet& examined, const LraSource& source) {
  std::vector<run::TextCase> cases;
  const bool is_text = !source.is_image && source.symbols == 256;
  if (!is_text) return cases;
  for (const int64_t example : surest_wrong(examined, kMostTexts)) {
    run::TextCase& shown = cases.emplace_back(run::TextCase{answer_to(examined, example), {}});
    for (int64_t which = 0; which < examined.set.per_example; ++which) {
      shown.texts.push_back(beginning_of(examined.set.sequence(example, which), kTextBytes));
    }
  }
  return cases;
}

std::string beginning_of(std::span<const uint8_t> bytes, size_t most) {
  constexpr size_t kLongestCharacter = 4;  // bytes
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t end = std::min(text.size(), most);
  if (end < text.size()) {
    size_t start = end;
    while (start > 0 && end - start < kLongestCharacter && continues_a_character(text[start])) --start;
    if (!continues_a_character(text[start])) end = start;
  }
  const nlohmann::json shown = text.substr(0, end);
  const std::string valid = shown.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(valid).get<std::string>() + (end < text.size() ? "…" : "");
}

}  // namespace primal::tasks
