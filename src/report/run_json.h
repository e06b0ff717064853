// A run as the data that page/run.js draws.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/finding.h"
#include "run/run.h"

namespace primal::report {

/// `name` is how the page calls the run.
nlohmann::json run_json(const run::Run& run, const std::string& name);

/// What run.js calls layers: Lambda and the spectra of the scores of primal layers.
nlohmann::json layers_json(const run::Spectra& spectra);
/// What memory.js draws: the time scales of fading averages.
nlohmann::json memories_json(const run::Spectra& spectra);
nlohmann::json findings_json(const std::vector<analysis::Finding>& findings);

/// "JapaneseVowels", or the directory's name while the run is unfinished.
std::string title_of(const run::Run& run);

}  // namespace primal::report
