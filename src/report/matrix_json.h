// Spectra of attention and kernel matrices as the pages draw them (matrices.js).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "run/analysis_file.h"

namespace primal::report {

/// {"of", "shares", "headShare": one of them, "layers": [...], "advice": [...], "notes": [...]}; null if the spectra
/// have none.
nlohmann::json matrices_json(const run::Spectra& spectra);

}  // namespace primal::report
