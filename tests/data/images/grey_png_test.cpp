#include "data/images/grey_png.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/errors.h"
#include "support/files.h"

namespace {

using primal::data::decode_grey_png;
using primal::data::encode_grey_png;
using primal::data::GreyPicture;
using primal::tests::contains;
using primal::tests::error_of;

GreyPicture decoded(const std::string& file) { return decode_grey_png(std::as_bytes(std::span(file)), "f"); }
std::string decoding_error(const std::string& file) {
  return error_of([&] { decoded(file); });
}

#ifdef PRIMAL_HAVE_PNG

std::vector<uint8_t> ramp(int64_t count) {
  std::vector<uint8_t> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(static_cast<uint8_t>(i * 7));
  return result;
}

uint32_t crc32_of(const std::string& bytes) {  // that of PNG, which is not CRC-32C
  uint32_t sum = ~0U;
  for (const char byte : bytes) {
    sum ^= static_cast<uint8_t>(byte);
    for (int i = 0; i < 8; ++i) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320U : 0);
  }
  return ~sum;
}

std::string big_endian(uint32_t value) {
  std::string result;
  for (const int shift : {24, 16, 8, 0}) result += static_cast<char>(value >> shift);
  return result;
}

std::string chunk(const std::string& name, const std::string& content) {
  return big_endian(static_cast<uint32_t>(content.size())) + name + content + big_endian(crc32_of(name + content));
}

constexpr uint8_t kGrey = 0, kColour = 2;
const std::string kSignature = "\x89PNG\r\n\x1a\n";

/// A file with nothing but a head that claims this.
std::string claims(uint32_t width, uint32_t height, uint8_t depth, uint8_t colour) {
  const std::string head = big_endian(width) + big_endian(height) + static_cast<char>(depth) +
                           static_cast<char>(colour) + std::string(3, '\0');
  return kSignature + chunk("IHDR", head) + chunk("IDAT", "");
}

TEST(GreyPng, ReadsBackWhatItWrites) {
  for (const auto& [width, height] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {32, 32}, {300, 2}}) {
    const std::vector<uint8_t> pixels = ramp(width * height);
    const GreyPicture picture = decoded(encode_grey_png(width, height, pixels));
    EXPECT_EQ(picture.width, width);
    EXPECT_EQ(picture.height, height);
    EXPECT_EQ(picture.pixels, pixels);
  }
}

TEST(GreyPng, GammaDoesNotChangeGreyValues) {
  std::string file = encode_grey_png(16, 16, ramp(256));
  const size_t start_of_srgb = file.find("sRGB") - 4;
  file.replace(start_of_srgb, 13, chunk("gAMA", big_endian(100'000)));  // 1.0: linear light
  EXPECT_EQ(decoded(file).pixels, ramp(256));
}

TEST(GreyPng, AnInterlacedFileIsRead) {
  // 3 x 3 pixels 10, 20, .. 90 in the order of Adam7: rows with their filter byte, stored without compression.
  const std::string rows = {0, 10, 0, 30, 0, 70, 90, 0, 20, 0, 80, 0, 40, 50, 60};
  std::string stream = "\x78\x01\x01";
  stream += std::string{static_cast<char>(rows.size()), 0, static_cast<char>(~rows.size()), '\xff'} + rows;
  uint32_t a = 1, b = 0;  // Adler-32
  for (const char byte : rows) b += a += static_cast<uint8_t>(byte);
  stream += big_endian(b % 65521 << 16 | a % 65521);
  const std::string head = big_endian(3) + big_endian(3) + std::string{8, 0, 0, 0, 1};
  const GreyPicture picture = decoded(kSignature + chunk("IHDR", head) + chunk("IDAT", stream) + chunk("IEND", ""));
  EXPECT_EQ(picture.pixels, (std::vector<uint8_t>{10, 20, 30, 40, 50, 60, 70, 80, 90}));
}

TEST(GreyPng, OtherKindsOfPixelsAreRefused) {
  EXPECT_EQ(decoding_error(claims(4, 4, 16, kGrey)), "f: expected 8-bit grey pixels, got 16-bit grey");
  EXPECT_EQ(decoding_error(claims(4, 4, 1, kGrey)), "f: expected 8-bit grey pixels, got 1-bit grey");
  EXPECT_EQ(decoding_error(claims(4, 4, 8, kColour)), "f: expected 8-bit grey pixels, got 8-bit colour");
}

TEST(GreyPng, TransparencyIsRefused) {
  std::string file = encode_grey_png(8, 8, ramp(64));
  file.insert(file.find("IDAT") - 4, chunk("tRNS", std::string{0, 7}));
  EXPECT_EQ(decoding_error(file), "f: expected 8-bit grey pixels, got 8-bit grey with transparency");
}

TEST(GreyPng, TextsArePassedOver) {
  std::string file = encode_grey_png(8, 8, ramp(64));
  const size_t start_of_pixels = file.find("IDAT") - 4;
  file.insert(start_of_pixels, chunk("tEXt", std::string("Title\0a", 7)));
  EXPECT_EQ(decoded(file).pixels, ramp(64));
  file.replace(start_of_pixels, 4, big_endian(0x5f000000));  // which it is not
  EXPECT_TRUE(contains(decoding_error(file), "f: not a sound PNG file"));
}

TEST(GreyPng, HugePicturesAreRefusedBeforeTheyTakeMemory) {
  EXPECT_TRUE(contains(decoding_error(claims(4097, 1, 8, kGrey)), "f: not a sound PNG file"));
  EXPECT_TRUE(contains(decoding_error(claims(0x7fffffff, 0x7fffffff, 8, kGrey)), "f: not a sound PNG file"));
}

TEST(GreyPng, EveryCutIsAnError) {
  const std::string file = encode_grey_png(8, 8, ramp(64));
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_TRUE(contains(decoding_error(file.substr(0, length)), "f: not a sound PNG file")) << length << " bytes";
  }
}

TEST(GreyPng, DamagedPixelsAreAnError) {
  std::string file = encode_grey_png(8, 8, ramp(64));
  file[file.find("IDAT") + 10] ^= 0x55;
  EXPECT_TRUE(contains(decoding_error(file), "f: not a sound PNG file"));
}

TEST(GreyPng, WhatCannotBeWrittenIsRefused) {
  EXPECT_EQ(error_of([] { encode_grey_png(2, 2, std::vector<uint8_t>(3)); }), "PNG: cannot write 3 pixels as 2 x 2");
  EXPECT_EQ(error_of([] { encode_grey_png(0, 0, {}); }), "PNG: cannot write 0 pixels as 0 x 0");
  EXPECT_EQ(error_of([] { encode_grey_png(5000, 1, std::vector<uint8_t>(5000)); }),
            "PNG: cannot write 5000 pixels as 5000 x 1");
}

using GreyPngFile = primal::tests::FolderTest;

TEST_F(GreyPngFile, IsReadByName) {
  EXPECT_EQ(primal::data::read_grey_png(write("a.png", encode_grey_png(2, 2, ramp(4)))).pixels, ramp(4));
  EXPECT_TRUE(contains(error_of([&] { primal::data::read_grey_png(write("b.png", "x")); }), "b.png: not a sound PNG"));
  EXPECT_TRUE(contains(error_of([&] { primal::data::read_grey_png(folder / "c.png"); }), "c.png: cannot open"));
}

#else

TEST(GreyPng, ABuildWithoutItSaysSo) {
  const std::string rest = ": this build has no PNG support; install the Debian package libpng-dev and build again";
  EXPECT_EQ(decoding_error("x"), "f" + rest);
  EXPECT_EQ(error_of([] { primal::data::read_grey_png("f"); }), "f" + rest);
  EXPECT_EQ(error_of([] { encode_grey_png(1, 1, std::vector<uint8_t>(1)); }), "PNG" + rest);
}

#endif

}  // namespace
