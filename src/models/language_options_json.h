// The options of a language model as JSON, so that a run says what its model is: "model" in RUN/data.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/language_model.h"

namespace primal::models {

/// Every option, layer by layer.
nlohmann::json to_json(const LanguageModelOptions& options);

/// The way back. An option that is missing has its default, which is what a run of an older version had. Throws Error,
/// `<where>: layers[0]: field "activation": ...`, for another type, an unknown name and an option that is not known.
LanguageModelOptions language_options_from_json(const nlohmann::json& object, const std::string& where);

}  // namespace primal::models
