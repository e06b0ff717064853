#include "report/text_json.h"

#include <nlohmann/json.hpp>
#include <numbers>

#include "report/page.h"

namespace primal::report {
namespace {

/// People know the bit: a fair coin has one.
nlohmann::json bits_json(double nats) { return rounded(nats / std::numbers::ln2); }

nlohmann::json passages_json(const std::vector<run::Passage>& passages) {
  nlohmann::json list = nlohmann::json::array();
  for (const run::Passage& passage : passages) {
    nlohmann::json texts = nlohmann::json::array(), bits = nlohmann::json::array();
    for (const auto& [text, nll] : passage.tokens) {
      texts.push_back(text);
      bits.push_back(bits_json(nll));
    }
    list.push_back({{"texts", texts}, {"bits", bits}});
  }
  return list;
}

}  // namespace

void add_text_details(nlohmann::json& test, const run::TextDetails& details) {
  nlohmann::json places = nlohmann::json::array(), samples = nlohmann::json::array();
  for (const auto& [from, to, loss] : details.by_place) {
    places.push_back({{"from", from}, {"to", to}, {"bits", bits_json(loss)}});
  }
  for (const auto& [prompt, text] : details.samples) samples.push_back({{"prompt", prompt}, {"text", text}});
  test["byPlace"] = places;
  test["mostSurprising"] = passages_json(details.most_surprising);
  test["leastSurprising"] = passages_json(details.least_surprising);
  test["samples"] = samples;
}

}  // namespace primal::report
