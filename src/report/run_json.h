// A run as the data that page/run.js draws.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "run/run.h"

namespace primal::report {

/// `name` is how the page calls the run.
nlohmann::json run_json(const run::Run& run, const std::string& name);

/// "JapaneseVowels", or the directory's name while the run is unfinished.
std::string title_of(const run::Run& run);

}  // namespace primal::report
