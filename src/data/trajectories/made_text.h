// How a set was made, as the text that its file carries.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "data/trajectories/hdf5_file.h"

namespace primal::data {

/// null for no text. `where` is for the error about what is no JSON.
nlohmann::json made_of_text(const Hdf5File& file, const std::string& where, const std::optional<std::string>& text);

/// One line. Bytes that are no UTF-8 are replaced.
std::string text_of_made(const nlohmann::json& made);

/// Its field "algorithm", if that is a text.
std::optional<std::string> algorithm_of(const nlohmann::json& made);

}  // namespace primal::data
