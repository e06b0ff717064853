#include "tasks/time_series/family.h"

#include <algorithm>
#include <array>

#include "data/series/locate.h"
#include "tasks/time_series/data_info.h"
#include "tasks/time_series/golden.h"
#include "tasks/time_series/task.h"

namespace primal::tasks {

namespace {

constexpr std::array kGoldenModels = {
    GoldenModel{"time_series_classifier", "time_series", expected_golden_series, computed_golden_series}};

std::vector<DataSet> data_sets(const data::SearchPath& search) {
  std::vector<DataSet> sets;
  for (const data::Found& found : data::list(search)) sets.push_back({found.name, found.directory});
  return sets;
}

// uea/NAME of a set that is there but has no preset of its own.
std::optional<StandIn> stand_in(const std::string& preset, const data::SearchPath& search) {
  constexpr std::string_view kPrefix = "uea/";
  if (!preset.starts_with(kPrefix)) return std::nullopt;
  const std::string name = preset.substr(kPrefix.size());
  const auto sets = data::list(search);
  if (std::ranges::none_of(sets, [&](const data::Found& set) { return set.name == name; })) return std::nullopt;
  return StandIn{own_files_preset(), {"data.set=" + name}};
}

}  // namespace

Family time_series_family() {
  return {.name = "time_series",
          .help = "classes or targets of multivariate series (UEA, own .ts and CSV files)",
          .config = []() -> std::unique_ptr<Config> { return std::make_unique<TimeSeriesConfig>(); },
          .open = [](const Config& config, const Opening& opening) -> std::unique_ptr<Task> {
            return std::make_unique<TimeSeriesTask>(dynamic_cast<const TimeSeriesConfig&>(config), opening);
          },
          .data_sets = data_sets,
          .data_info = series_info,
          .stand_in = stand_in,
          .golden_models = kGoldenModels};
}

}  // namespace primal::tasks
