// Fields of a CSV file.
#pragma once

#include <string>

namespace primal::tasks {

/// Quoted as RFC 4180 asks for, when needed.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace primal::tasks
