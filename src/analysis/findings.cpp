#include "analysis/findings.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analysis/finding_rules.h"

namespace primal::analysis {
namespace {

/// Says once what is true of several layers in the same words: "layer 1, layer 2: ...".
class LayerFindings {
 public:
  void add(const std::string& layer, std::optional<Finding> finding) {
    if (!finding) return;
    const auto is_same = [&](const Entry& entry) {
      return entry.finding.title == finding->title && entry.finding.text == finding->text;
    };
    const auto same = std::ranges::find_if(entries_, is_same);
    if (same == entries_.end()) {
      entries_.push_back({layer, std::move(*finding)});
    } else {
      same->layers += ", " + layer;
    }
  }

  void append_to(std::vector<Finding>& found) {
    for (Entry& entry : entries_) {
      entry.finding.title.insert(0, entry.layers + ": ");
      found.push_back(std::move(entry.finding));
    }
  }

 private:
  struct Entry {
    std::string layers;
    Finding finding;
  };
  std::vector<Entry> entries_;
};

}  // namespace

std::vector<Finding> findings(const RunFacts& facts) {
  std::vector<Finding> found;
  const auto add = [&found](std::optional<Finding> finding) {
    if (finding) found.push_back(std::move(*finding));
  };
  LayerFindings of_layers;
  add(gave_up(facts));
  add(loss_not_finite(facts));
  add(accuracy_at_chance(facts));
  add(no_better_than_the_mean(facts));
  add(eta_too_large(facts));
  add(overfitting(facts));
  add(no_spectra(facts));
  for (std::size_t i = 0; i < facts.layers.size(); ++i) {
    const LayerFacts& layer = facts.layers[i];
    of_layers.add(layer.name, lambda_collapsed(facts, i));
    of_layers.add(layer.name, rows_below_rank(layer));
    of_layers.add(layer.name, rank_too_small(layer));
    of_layers.add(layer.name, rank_wasted(layer));
  }
  of_layers.append_to(found);
  std::ranges::stable_partition(found, [](const Finding& f) { return f.severity == Severity::warning; });
  return found;
}

}  // namespace primal::analysis
