#include "report/page.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "base/base64.h"
#include "report/page_files.h"

namespace primal::report {
namespace {

unsigned hex_digit(char digit) { return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10); }

/// A policy wants hashes in base64, CMake gives them in hexadecimal.
std::string base64_of_hex(std::string_view hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(hex_digit(hex[i]) << 4 | hex_digit(hex[i + 1])));
  }
  return base::base64_of(bytes);
}

std::string_view file_text(std::string_view name) {
  const auto files = page_files();
  const auto found = std::ranges::find(files, name, &PageFile::name);
  if (found == files.end()) throw std::logic_error("report: no embedded file " + std::string(name));
  return found->text;
}

std::string policy() {
  std::string scripts, styles;
  for (const PageFile& file : page_files()) {
    if (file.name.ends_with(".html")) continue;
    std::string& list = file.name.ends_with(".css") ? styles : scripts;
    list.append(" 'sha256-").append(base64_of_hex(file.sha256_hex)).append("'");
  }
  return "default-src 'none'; script-src" + scripts + "; style-src" + styles + "; base-uri 'none'; form-action 'none'";
}

std::string script_elements() {
  std::string elements;
  for (const PageFile& file : page_files()) {
    if (file.name.ends_with(".js")) elements.append("<script>").append(file.text).append("</script>\n");
  }
  return elements;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string script_json(const nlohmann::json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  for (char c : text) c == '<' ? escaped += "\\u003c" : escaped += c;
  return escaped;
}

std::string make_page(std::string_view title, std::string_view summary, const nlohmann::json& data) {
  const auto value_of = [&](std::string_view name) -> std::string {
    if (name == "policy") return policy();
    if (name == "title") return escape_html(title);
    if (name == "summary") return escape_html(summary);
    if (name == "style") return std::string(file_text("report.css"));
    if (name == "scripts") return script_elements();
    if (name == "data") return script_json(data);
    throw std::logic_error("report.html: unknown place {{" + std::string(name) + "}}");
  };
  std::string page;
  std::string_view rest = file_text("report.html");
  for (std::size_t open = rest.find("{{"); open != rest.npos; open = rest.find("{{")) {
    const std::size_t close = rest.find("}}", open);
    page.append(rest.substr(0, open)).append(value_of(rest.substr(open + 2, close - open - 2)));
    rest.remove_prefix(close + 2);
  }
  return page.append(rest);
}

nlohmann::json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value, std::chars_format::general, 6).ptr;
  double result = 0;
  std::from_chars(digits, end, result);
  return result;
}

nlohmann::json numbers_json(const std::vector<double>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (double value : values) list.push_back(rounded(value));
  return list;
}

}  // namespace primal::report
