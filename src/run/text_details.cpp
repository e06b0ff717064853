#include "run/text_details.h"

#include <cmath>

#include "base/json_fields.h"
#include "base/text.h"
#include "run/detail_lists.h"

namespace primal::run {

namespace {

constexpr const char *kByPlace = "by_place", *kMost = "most_surprising", *kLeast = "least_surprising",
                     *kSamples = "samples";

// JSON is UTF-8; a piece of text from the middle of a character is not.
std::string printable(const std::string& text) { return base::is_utf8(text) ? text : "\uFFFD"; }

nlohmann::json place_json(const PlaceLoss& place) {
  return {{"from", place.from}, {"to", place.to}, {"loss", place.loss}};
}

nlohmann::json passage_json(const Passage& passage) {
  nlohmann::json texts = nlohmann::json::array(), losses = nlohmann::json::array();
  for (const ScoredToken& token : passage.tokens) {
    texts.push_back(printable(token.text));
    losses.push_back(std::round(1e3 * token.nll) / 1e3);  // more digits only make the file longer
  }
  return {{"texts", texts}, {"nll", losses}};
}

nlohmann::json sample_json(const TextSample& sample) {
  return {{"prompt", printable(sample.prompt)}, {"text", printable(sample.text)}};
}

PlaceLoss place_from(const base::Fields& fields) {
  return {fields.whole("from"), fields.whole("to"), fields.number("loss")};
}

Passage passage_from(const base::Fields& fields) {
  const std::vector<std::string> texts = fields.texts("texts");
  const std::vector<double> losses = fields.numbers_if_any("nll");
  if (texts.size() != losses.size()) {
    fields.fail("nll", "expected " + std::to_string(texts.size()) + " numbers, got " + std::to_string(losses.size()));
  }
  Passage passage;
  for (size_t i = 0; i < texts.size(); ++i) passage.tokens.push_back({texts[i], losses[i]});
  return passage;
}

TextSample sample_from(const base::Fields& fields) { return {fields.text("prompt"), fields.text("text")}; }

}  // namespace

void put(Evaluation& evaluation, const TextDetails& details) {
  put_list(evaluation, kByPlace, details.by_place, place_json);
  put_list(evaluation, kMost, details.most_surprising, passage_json);
  put_list(evaluation, kLeast, details.least_surprising, passage_json);
  put_list(evaluation, kSamples, details.samples, sample_json);
}

TextDetails text_details(const Evaluation& evaluation, const std::string& where) {
  return {.by_place = list_from(evaluation, where, kByPlace, place_from),
          .most_surprising = list_from(evaluation, where, kMost, passage_from),
          .least_surprising = list_from(evaluation, where, kLeast, passage_from),
          .samples = list_from(evaluation, where, kSamples, sample_from)};
}

}  // namespace primal::run
