// CRC-32C (Castagnoli), the checksum of TFRecord files and of checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace primal::base {

/// crc32c("123456789") == 0xE3069283.
std::uint32_t crc32c(std::string_view bytes);
/// As eight hexadecimal digits.
std::string crc32c_text(std::string_view bytes);

/// The form stored in TFRecord files: a checksum of data that holds checksums would be weak, so they are disguised.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace primal::base
