// What an HTML page of ours carries.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace primal::tests {

/// The data that a page draws.
inline nlohmann::json data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t start = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(start, page.find("</script>", start) - start));
}

/// How often `part` occurs.
inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace primal::tests
