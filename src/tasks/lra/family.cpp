#include "tasks/lra/family.h"

#include <array>

#include "tasks/lra/data_info.h"
#include "tasks/lra/golden.h"
#include "tasks/lra/makers.h"
#include "tasks/lra/task.h"

namespace primal::tasks {

namespace {

constexpr std::array kGoldenLraModels = {
    GoldenModel{"lra_classifier", "lra", expected_golden_lra, computed_golden_lra},
    GoldenModel{"lra_pair_classifier", "lra", expected_golden_lra, computed_golden_lra}};

std::vector<DataSet> lra_data_sets(const data::SearchPath& search) {
  std::vector<DataSet> sets;
  for (const LraSource& source : lra_sources()) {
    if (const auto place = find_lra(source, search)) sets.push_back({"lra/" + source.name, *place});
  }
  return sets;
}

}  // namespace

Family lra_family() {
  static const std::array makers = {listops_maker(), pathfinder_maker(), wikitext_pairs_maker()};
  return {.name = "lra",
          .help = "classes of long token sequences: the Long Range Arena",
          .config = []() -> std::unique_ptr<Config> { return std::make_unique<LraConfig>(); },
          .open = [](const Config& config, const Opening& opening) -> std::unique_ptr<Task> {
            return std::make_unique<LraTask>(dynamic_cast<const LraConfig&>(config), opening);
          },
          .data_sets = lra_data_sets,
          .data_info = lra_info,
          .golden_models = kGoldenLraModels,
          .makers = makers};
}

}  // namespace primal::tasks
