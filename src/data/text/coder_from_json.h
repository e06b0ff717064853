// The way back from TextCoder::to_json().
#pragma once

#include <memory>

#include "data/text/text_coder.h"

namespace primal::data {

/// `where` begins the message of an error: "runs/a/data.json". Throws primal::Error.
std::unique_ptr<TextCoder> coder_from_json(const nlohmann::json& object, const std::string& where);

}  // namespace primal::data
