// CIFAR-10 as sequences of grey values: the image task of the Long Range Arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "data/tokens/token_set.h"

namespace primal::data {

inline constexpr std::size_t kCifarPixels = 32 * 32;
inline constexpr std::size_t kCifarRecord = 1 + 3 * kCifarPixels;  ///< bytes: label, red, green and blue planes

enum class CifarPart { train, test };

/// data_batch_1.bin to data_batch_5.bin, or test_batch.bin, in the order of the files. An example has 1024 grey values,
/// row by row. The names of the classes are those of batches.meta.txt if that is there. Throws primal::Error,
/// "<path>: record <number from 1>: expected ..., got ...".
TokenSet read_cifar10(const std::filesystem::path& folder, CifarPart part);

/// Appends the records of one file.
void add_cifar10_batch(TokenSet& set, std::string_view file_name, std::span<const std::byte> bytes);

/// As TensorFlow's rgb_to_grayscale on bytes, which the Long Range Arena uses: in float32, the channels divided by 255,
/// weighted with 0.2989, 0.5870 and 0.1140 and added, times 255.5, without the fraction.
uint8_t grey_value(uint8_t red, uint8_t green, uint8_t blue);

}  // namespace primal::data
