#include "base/json_file.h"

#include <primal/error.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace primal::base {

std::string reason_of(const std::exception& json_error) {
  const std::string text = json_error.what();
  const size_t end = text.find("] ");
  return text.starts_with('[') && end != std::string::npos ? text.substr(end + 2) : text;
}

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw Error(path.string() + ": could not be opened: " + std::strerror(errno));
  try {
    return nlohmann::json::parse(file);
  } catch (const nlohmann::json::exception& error) {
    throw Error(path.string() + ": " + reason_of(error));
  }
}

std::optional<std::string> read_text_if_any(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  if (!std::filesystem::is_regular_file(path, error)) throw Error(path.string() + ": is not a file");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw Error(path.string() + ": cannot be read");
  return text;
}

}  // namespace primal::base
