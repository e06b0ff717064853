#include "tasks/offline_rl/family.h"

#include <array>

#include "tasks/offline_rl/data_info.h"
#include "tasks/offline_rl/golden.h"
#include "tasks/offline_rl/makers.h"
#include "tasks/offline_rl/task.h"

namespace primal::tasks {

namespace {

constexpr std::array kGoldenAgents = {
    GoldenModel{"decision_transformer", "rl", expected_golden_decision, computed_golden_decision}};

}  // namespace

Family offline_rl_family() {
  return {.name = "offline_rl",
          .help = "robots, from logged episodes: actions, and returns in the simulator",
          .config = []() -> std::unique_ptr<Config> { return std::make_unique<OfflineRlConfig>(); },
          .open = [](const Config& config, const Opening& opening) -> std::unique_ptr<Task> {
            return std::make_unique<OfflineRlTask>(dynamic_cast<const OfflineRlConfig&>(config), opening);
          },
          .data_sets = offline_rl_data_sets,
          .data_info = offline_rl_info,
          .golden_models = kGoldenAgents,
          .makers = offline_rl_makers()};
}

}  // namespace primal::tasks
