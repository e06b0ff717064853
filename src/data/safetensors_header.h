// The header of a safetensors file: 8 bytes of length (little-endian), then JSON that names every tensor and its place.
// No LibTorch here, so that the fuzzer builds and runs fast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primal::data {

/// Rising alignment, in the order of the official library: data are written in the reverse order, which keeps every
/// tensor aligned and our files equal to those of the official writer byte for byte.
// clang-format off
enum class SafetensorsDtype : std::uint8_t {
  BOOL, U8, I8, F8_E5M2, F8_E4M3, I16, U16, F16, BF16, I32, U32, F32, C64, F64, I64, U64
};

struct SafetensorsDtypeInfo {
  std::string_view name;
  std::int64_t size;  ///< bytes of one element, also its alignment
};

inline constexpr std::array<SafetensorsDtypeInfo, 16> kSafetensorsDtypes = {{
    {"BOOL", 1}, {"U8", 1}, {"I8", 1}, {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2}, {"BF16", 2},
    {"I32", 4}, {"U32", 4}, {"F32", 4}, {"C64", 8}, {"F64", 8}, {"I64", 8}, {"U64", 8},
}};
// clang-format on

constexpr const SafetensorsDtypeInfo& info(SafetensorsDtype dtype) {
  return kSafetensorsDtypes[static_cast<std::size_t>(dtype)];
}

struct SafetensorsEntry {
  std::string name;
  SafetensorsDtype dtype = SafetensorsDtype::BOOL;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes [begin, end) of the data, which start after the header

  bool operator==(const SafetensorsEntry&) const = default;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in the order of their data, which they cover without hole or overlap
  std::map<std::string, std::string> metadata;
  std::uint64_t data_start = 0;  ///< bytes before the data

  bool operator==(const SafetensorsHeader&) const = default;
};

/// The limit of the official library.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
/// LibTorch's operators keep sets of dimensions in 64 bits.
inline constexpr std::size_t kMaxSafetensorsRank = 64;
inline constexpr std::string_view kSafetensorsMetadataKey = "__metadata__";

/// Parses and checks the header of `file`, the bytes of a whole file. Throws primal::Error, "<file_name>: ...".
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, std::string_view file_name);

/// The bytes before the data: length and JSON, padded with spaces so that the data start at a multiple of 8.
/// Names and metadata must be UTF-8 (base::is_utf8); data_start is not used.
std::string format_safetensors_header(const SafetensorsHeader& header);

}  // namespace primal::data
