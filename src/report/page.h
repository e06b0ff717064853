// One HTML file from the embedded template, style, scripts and a piece of data.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace primal::report {

/// For text between tags and in quoted attributes.
std::string escape_html(std::string_view text);

/// JSON that cannot end the script element around it: "<" is written as \u003c. Bytes that are not UTF-8 are replaced.
std::string script_json(const nlohmann::json& data);

/// The page: it draws `data`, which main.js describes. `summary` is what a reader without JavaScript sees.
/// The page asks for nothing from outside: its policy allows the embedded scripts, by their hashes, and nothing else.
std::string make_page(std::string_view title, std::string_view summary, const nlohmann::json& data);

/// Six digits are more than any picture shows, and half the bytes. NaN and infinite become null.
nlohmann::json rounded(double value);
nlohmann::json numbers_json(const std::vector<double>& values);

}  // namespace primal::report
