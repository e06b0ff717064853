#include "data/trajectories/made_text.h"

#include <nlohmann/json.hpp>

#include "base/json_file.h"

namespace primal::data {

nlohmann::json made_of_text(const Hdf5File& file, const std::string& where, const std::optional<std::string>& text) {
  if (!text) return nullptr;
  try {
    return nlohmann::json::parse(*text);
  } catch (const nlohmann::json::exception& error) {
    file.fail(where, ": is not JSON: ", base::in_quotes(base::reason_of(error)));
  }
}

std::string text_of_made(const nlohmann::json& made) {
  return made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<std::string> algorithm_of(const nlohmann::json& made) {
  if (!made.is_object() || !made.contains("algorithm") || !made["algorithm"].is_string()) return std::nullopt;
  return made["algorithm"].get<std::string>();
}

}  // namespace primal::data
