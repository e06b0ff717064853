#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace primal::base {
namespace {

std::string bytes_from(int first, int step) {
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes.push_back(static_cast<char>(first + i * step));
  return bytes;
}

TEST(Crc32c, GivesTheValueEveryImplementationQuotes) { EXPECT_EQ(crc32c("123456789"), 0xE3069283U); }

// RFC 3720 (iSCSI), appendix B.4.
TEST(Crc32c, GivesTheValuesOfTheStandard) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(bytes_from(0, 1)), 0x46DD794EU);
  EXPECT_EQ(crc32c(bytes_from(31, -1)), 0x113FDB5CU);
}

TEST(Crc32c, OfNothingIsZero) { EXPECT_EQ(crc32c(""), 0U); }

// The first record of every event file that TensorFlow writes starts with the length 24, 0x18, and this checksum of it.
TEST(Crc32c, IsMaskedLikeTensorFlowsRecords) {
  EXPECT_EQ(masked_crc32c(std::string("\x18\0\0\0\0\0\0\0", 8)), 0x224B7FA3U);
}

}  // namespace
}  // namespace primal::base
