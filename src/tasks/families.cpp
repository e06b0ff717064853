#include <array>

#include "base/text.h"
#include "tasks/family.h"
#include "tasks/language/family.h"
#include "tasks/lra/family.h"
#include "tasks/offline_rl/family.h"
#include "tasks/time_series/family.h"

namespace primal::tasks {

std::span<const Family> families() {
  static const std::array all = {
      time_series_family(),
      lra_family(),
      language_family(),
      offline_rl_family(),
  };
  return all;
}

const char* default_preset() { return "uea/JapaneseVowels"; }
const char* own_files_preset() { return "series/default"; }

const Family& family(std::string_view name, const std::string& where) {
  std::vector<std::string> names;
  for (const Family& family : families()) {
    if (family.name == name) return family;
    names.emplace_back(family.name);
  }
  base::fail(where, "unknown family of tasks ", base::in_quotes(name), ", expected one of ", base::joined(names, ", "));
}

}  // namespace primal::tasks
