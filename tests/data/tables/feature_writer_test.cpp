#include "data/tables/feature_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "data/safetensors_header.h"
#include "data/tables/number_table.h"

namespace {

using primal::data::FeatureWriter;
using primal::data::FeatureWriterOptions;

template <typename T>
std::string written(const FeatureWriterOptions& options, const std::vector<T>& values) {
  std::string bytes;
  FeatureWriter writer(options, [&](std::string_view more) { bytes += more; });
  writer.write(std::span<const T>(values));
  return bytes;
}

TEST(FeatureWriter, WritesCsvThatReadsBackToTheSameNumbers) {
  const std::vector<double> values = {0.1, -1.0 / 3, 1e-300, 123456789.123456789, std::numeric_limits<double>::max(),
                                      0};
  const std::string text = written({.rows = 3, .columns = 2}, values);
  EXPECT_TRUE(text.starts_with("feature_1,feature_2\n0.1,-0.3333333333333333\n")) << text;
  EXPECT_EQ(primal::data::read_number_table(primal::data::LineSource("t", text)).values, values);
  EXPECT_EQ(written({.rows = 1, .columns = 1}, std::vector<float>{0.1F}), "feature_1\n0.1\n");
}

TEST(FeatureWriter, ManyRowsAreTheSameWithAnyNumberOfThreads) {
  std::vector<float> values(3 * 20000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1 / (static_cast<float>(i) + 1);
  const std::string one = written({.rows = 20000, .columns = 3}, values);
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 20001);
  EXPECT_EQ(written({.rows = 20000, .columns = 3, .threads = 3}, values), one);
}

TEST(FeatureWriter, WritesOneTensor) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6};
  const std::string bytes = written({.rows = 3, .columns = 2, .is_double = true, .is_safetensors = true}, values);
  const auto header = primal::data::parse_safetensors_header(std::as_bytes(std::span(bytes)), "t");
  ASSERT_EQ(header.entries.size(), 1u);
  EXPECT_EQ(header.entries[0].name, "features");
  EXPECT_EQ(header.entries[0].shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(header.entries[0].dtype, primal::data::SafetensorsDtype::F64);
  std::vector<double> back(6);
  std::memcpy(back.data(), bytes.data() + header.data_start, 48);
  EXPECT_EQ(back, values);
}

}  // namespace
