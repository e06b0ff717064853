#include "analysis/rank_advice.h"

#include <algorithm>

#include "base/format.h"

namespace primal::analysis {

namespace {

std::string setting_of(const std::vector<int64_t>& ranks) {
  std::string text = "model.rank=" + std::to_string(ranks.front());
  if (std::ranges::all_of(ranks, [&](int64_t rank) { return rank == ranks.front(); })) return text;
  for (size_t i = 1; i < ranks.size(); ++i) text += "," + std::to_string(ranks[i]);
  return text;
}

}  // namespace

std::vector<RankAdvice> rank_advice(const std::vector<run::MatrixFacts>& layers) {
  const auto is_missing = [](const run::MatrixFacts& layer) { return !layer.left_out.empty(); };
  if (layers.empty() || std::ranges::any_of(layers, is_missing)) return {};
  std::vector<RankAdvice> advice;
  for (size_t i = 0; i < run::kEnergyShares.size(); ++i) {
    RankAdvice& one = advice.emplace_back(RankAdvice{.share = run::kEnergyShares[i], .ranks = {}, .setting = {}});
    for (const run::MatrixFacts& layer : layers) one.ranks.push_back(layer.all.ranks[i]);
    one.setting = setting_of(one.ranks);
  }
  return advice;
}

std::vector<std::string> rank_notes(const std::vector<run::MatrixFacts>& layers) {
  std::vector<std::string> notes;
  for (const run::MatrixFacts& layer : layers) {
    for (size_t i = 0; i < run::kEnergyShares.size() && layer.left_out.empty(); ++i) {
      if (layer.all.ranks[i] <= layer.features) continue;
      notes.push_back(
          layer.layer + " needs " + std::to_string(layer.all.ranks[i]) + " pairs for " +
          base::format_percent(run::kEnergyShares[i], 0) + ", more than the " + std::to_string(layer.features) +
          " channels of a head: the kernel matrix of a primal layer with cosine features has no more pairs");
      break;
    }
  }
  return notes;
}

}  // namespace primal::analysis
