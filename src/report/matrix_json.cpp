#include "report/matrix_json.h"

#include <nlohmann/json.hpp>

#include "analysis/rank_advice.h"
#include "report/page.h"

namespace primal::report {
namespace {

using Json = nlohmann::json;

Json matrix_json(const run::MatrixFacts& facts) {
  Json json = {{"layer", facts.layer}, {"kind", facts.kind}, {"leftOut", facts.left_out}};
  if (!facts.left_out.empty()) return json;
  json["samples"] = facts.samples;
  json["tokens"] = facts.tokens;
  json["places"] = facts.places;
  json["values"] = numbers_json(facts.all.values);
  json["explained"] = numbers_json(facts.all.explained);
  json["explainedDeviations"] = numbers_json(facts.all.explained_deviations);
  json["effectiveRank"] = rounded(facts.all.effective_rank);
  json["effectiveRankDeviation"] = rounded(facts.all.effective_rank_deviation);
  json["ranks"] = facts.all.ranks;
  json["headRanks"] = Json::array();
  for (const run::MatrixCurves& head : facts.heads) json["headRanks"].push_back(head.ranks);
  return json;
}

}  // namespace

Json matrices_json(const run::Spectra& spectra) {
  if (spectra.matrices.empty()) return nullptr;
  Json layers = Json::array(), advice = Json::array();
  for (const run::MatrixFacts& facts : spectra.matrices) layers.push_back(matrix_json(facts));
  for (const analysis::RankAdvice& one : analysis::rank_advice(spectra.matrices)) {
    advice.push_back({{"share", one.share}, {"setting", one.setting}});
  }
  return {{"of", spectra.matrices_of},
          {"shares", run::kEnergyShares},
          {"headShare", run::kHeadShare},
          {"layers", layers},
          {"advice", advice},
          {"notes", analysis::rank_notes(spectra.matrices)}};
}

}  // namespace primal::report
