#include "tasks/matrix_tables.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/rank_advice.h"
#include "base/format.h"

namespace primal::tasks {

namespace {

std::string spread_of(const run::MatrixCurves& curves) {
  std::string text = base::printed("%.2f", curves.effective_rank);
  if (std::isfinite(curves.effective_rank_deviation)) {
    text += base::printed(" +- %.2g", curves.effective_rank_deviation);
  }
  return text;
}

std::string range_of_heads(const std::vector<run::MatrixCurves>& heads) {
  std::vector<int64_t> ranks;
  for (const run::MatrixCurves& head : heads) ranks.push_back(head.ranks[run::kHeadShare]);
  const auto [low, high] = std::ranges::minmax(ranks);
  return low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
}

std::string matrix_name(const run::MatrixFacts& facts) {
  return (facts.is_primal() ? "kernel" : facts.kind) + " of " + facts.layer;
}

std::string matrix_row(const run::MatrixFacts& facts) {
  const std::string name = base::padded(matrix_name(facts), 24);
  if (!facts.left_out.empty()) return name + "  " + facts.left_out + "\n";
  std::string text = name + base::printed("%7ld %6ld  ", facts.samples, facts.tokens);
  text += base::padded(spread_of(facts.all), 16);
  for (const int64_t rank : facts.all.ranks) text += base::printed(" %5ld", rank);
  return text + "  " + range_of_heads(facts.heads) + "\n";
}

}  // namespace

std::string matrix_table(const run::Spectra& spectra) {
  if (spectra.matrices.empty()) return "";
  std::string text = "\nattention matrices, of primal layers the kernel matrix";
  if (!spectra.matrices_of.empty()) text += "\n" + spectra.matrices_of;
  text += "\n" + base::padded("", 24) + base::printed("%7s %6s  %-16s", "samples", "N", "effective rank");
  for (const double share : run::kEnergyShares) text += base::printed(" %3.0f %%", 100 * share);
  text += base::printed("  heads, %.0f %%\n", 100 * run::kEnergyShares[run::kHeadShare]);
  for (const run::MatrixFacts& facts : spectra.matrices) text += matrix_row(facts);
  for (const analysis::RankAdvice& advice : analysis::rank_advice(spectra.matrices)) {
    text += base::printed("rank that keeps %.0f %% of the energy (sum of squares): --set %s\n", 100 * advice.share,
                          advice.setting.c_str());
  }
  for (const std::string& note : analysis::rank_notes(spectra.matrices)) text += "note: " + note + "\n";
  return text;
}

nlohmann::json rank_advice_json(const run::Spectra& spectra) {
  nlohmann::json shares = nlohmann::json::array();
  for (const analysis::RankAdvice& advice : analysis::rank_advice(spectra.matrices)) {
    shares.push_back({{"share", advice.share}, {"ranks", advice.ranks}, {"setting", advice.setting}});
  }
  return {{"shares", shares}, {"notes", analysis::rank_notes(spectra.matrices)}};
}

}  // namespace primal::tasks
