// Spectra of attention and kernel matrices for the terminal, and the ranks that they advise.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "run/analysis_file.h"

namespace primal::tasks {

/// A row per layer: effective rank, ranks for shares of the energy, and settings to copy. Empty if there are none.
std::string matrix_table(const run::Spectra& spectra);

/// {"shares": [{"share", "ranks", "setting"}], "notes"}
nlohmann::json rank_advice_json(const run::Spectra& spectra);

}  // namespace primal::tasks
