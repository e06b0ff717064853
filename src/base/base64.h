// Base64 (RFC 4648): bytes as letters, four for every three, for JSON and HTML.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primal::base {

/// With padding: base64_of the bytes of "light" is "bGlnaHQ=".
std::string base64_of(std::span<const std::uint8_t> bytes);
/// The way back; nothing if the text is not what base64_of() gives.
std::optional<std::vector<std::uint8_t>> bytes_of_base64(std::string_view text);

}  // namespace primal::base
