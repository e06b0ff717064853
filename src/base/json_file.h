// JSON and text files, with errors that name them.
#pragma once

#include <exception>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace primal::base {

/// What an exception of nlohmann::json says, without its number: "[json.exception.type_error.302] type must be ...".
std::string reason_of(const std::exception& json_error);

/// Reads a JSON file. Throws Error with the path.
nlohmann::json read_json(const std::filesystem::path& path);

/// The bytes of a file; nothing if there is none. Throws Error with the path for what is no file or cannot be read.
std::optional<std::string> read_text_if_any(const std::filesystem::path& path);

}  // namespace primal::base
