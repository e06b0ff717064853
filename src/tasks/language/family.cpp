#include "tasks/language/family.h"

#include <array>

#include "tasks/language/data_info.h"
#include "tasks/language/golden.h"
#include "tasks/language/makers.h"
#include "tasks/language/task.h"

namespace primal::tasks {

namespace {

constexpr std::array kGoldenLanguageModels = {
    GoldenModel{"language_model", "language", expected_golden_language, computed_golden_language}};

}  // namespace

Family language_family() {
  return {.name = "language",
          .help = "texts, token by token: perplexity and generation",
          .config = []() -> std::unique_ptr<Config> { return std::make_unique<LanguageConfig>(); },
          .open = [](const Config& config, const Opening& opening) -> std::unique_ptr<Task> {
            return std::make_unique<LanguageTask>(dynamic_cast<const LanguageConfig&>(config), opening);
          },
          .data_sets = language_data_sets,
          .data_info = language_info,
          .golden_models = kGoldenLanguageModels,
          .makers = language_makers()};
}

}  // namespace primal::tasks
