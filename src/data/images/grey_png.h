// 8-bit grey PNG files, on libpng. A build without libpng has these functions too; they throw primal::Error there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primal::data {

/// Larger pictures are refused: what a file of a few bytes claims must not decide how much memory is taken.
inline constexpr int64_t kMostPngSide = 4096;

struct GreyPicture {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> pixels{};  ///< row by row
};

/// Throws primal::Error, "<name>: ...", in a build without PNG support.
void require_png_support(std::string_view name);

/// Gives the grey values as they are stored: no correction of gamma. Colour, transparency and other depths than 8 bits
/// are refused, and so is whatever is damaged. Throws primal::Error, "<name>: ...".
GreyPicture decode_grey_png(std::span<const std::byte> file, std::string_view name);
GreyPicture read_grey_png(const std::filesystem::path& path);

/// The bytes of a file. Throws primal::Error if `pixels` are not width x height, or a side is 0 or too long.
std::string encode_grey_png(int64_t width, int64_t height, std::span<const uint8_t> pixels);

}  // namespace primal::data
