#include "run/matrix_facts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json_fields.h"

namespace primal::run {

namespace {

// Six digits are more than any picture shows, and half the bytes.
std::vector<double> shortened(const std::vector<double>& values) {
  std::vector<double> digits;
  for (const double value : values) digits.push_back(std::strtod(base::format_digits(value, 6).c_str(), nullptr));
  return digits;
}

nlohmann::json curves_json(const MatrixCurves& curves) {
  nlohmann::json json = {{"singular_values", shortened(curves.values)},
                         {"explained", shortened(curves.explained)},
                         {"effective_rank", curves.effective_rank},
                         {"ranks", curves.ranks}};
  if (!curves.deviations.empty()) json["deviations"] = shortened(curves.deviations);
  if (!curves.explained_deviations.empty()) {
    json["explained_deviations"] = shortened(curves.explained_deviations);
  }
  if (std::isfinite(curves.effective_rank_deviation)) {
    json["effective_rank_deviation"] = curves.effective_rank_deviation;
  }
  return json;
}

MatrixCurves matrix_curves(const base::Fields& object, size_t places) {
  MatrixCurves curves{.values = object.numbers_if_any("singular_values"),
                      .deviations = object.numbers_if_any("deviations"),
                      .explained = object.numbers_if_any("explained"),
                      .explained_deviations = object.numbers_if_any("explained_deviations"),
                      .effective_rank = object.number("effective_rank"),
                      .effective_rank_deviation = object.number_if_any("effective_rank_deviation")};
  const auto check = [&](const char* key, const std::vector<double>& list, bool must_be) {
    if (list.size() == places || (!must_be && list.empty())) return;
    object.fail(key,
                "expected " + std::to_string(places) + " numbers, one per place, got " + std::to_string(list.size()));
  };
  check("singular_values", curves.values, true);
  check("deviations", curves.deviations, false);
  check("explained", curves.explained, true);
  check("explained_deviations", curves.explained_deviations, false);
  const std::vector<std::int64_t> ranks = object.wholes("ranks");
  if (ranks.size() != curves.ranks.size()) {
    object.fail("ranks",
                "expected " + std::to_string(curves.ranks.size()) + " numbers, got " + std::to_string(ranks.size()));
  }
  std::ranges::copy(ranks, curves.ranks.begin());
  return curves;
}

}  // namespace

nlohmann::json to_json(const MatrixFacts& facts) {
  nlohmann::json json = {{"layer", facts.layer}, {"kind", facts.kind}};
  if (!facts.left_out.empty()) {
    json["left_out"] = facts.left_out;
    return json;
  }
  json["matrix"] = facts.is_primal() ? "kernel" : "attention";
  json["samples"] = facts.samples;
  json["tokens"] = facts.tokens;
  json["features"] = facts.features;
  json["places"] = facts.places;
  json["all"] = curves_json(facts.all);
  json["heads"] = nlohmann::json::array();
  for (const MatrixCurves& head : facts.heads) json["heads"].push_back(curves_json(head));
  return json;
}

MatrixFacts matrix_facts(const base::Fields& object) {
  MatrixFacts facts{.layer = object.text("layer"),
                    .kind = object.text("kind"),
                    .samples = object.whole_if_any("samples"),
                    .tokens = object.whole_if_any("tokens"),
                    .features = object.whole_if_any("features"),
                    .left_out = object.text_if_any("left_out")};
  if (!facts.left_out.empty()) return facts;
  facts.places = object.wholes("places");
  const bool rises = std::ranges::adjacent_find(facts.places, std::greater_equal()) == facts.places.end();
  if (facts.places.empty() || facts.places.front() != 1 || !rises) {
    object.fail("places", "expected rising numbers from 1");
  }
  facts.all = matrix_curves(object.object("all"), facts.places.size());
  for (const base::Fields& head : object.objects("heads")) {
    facts.heads.push_back(matrix_curves(head, facts.places.size()));
  }
  if (facts.heads.empty()) object.fail("heads", "expected at least one");
  return facts;
}

}  // namespace primal::run
