#include "data/images/cifar10.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/errors.h"
#include "support/files.h"
#include "support/real_data.h"
#include "support/token_sets.h"

namespace {

using primal::data::CifarPart;
using primal::data::grey_value;
using primal::data::read_cifar10;
using primal::data::TokenSet;
using primal::tests::error_of;

TEST(GreyValue, OfGreyIsTheValueItself) {
  for (int value = 0; value < 256; ++value) {
    const auto byte = static_cast<uint8_t>(value);
    EXPECT_EQ(grey_value(byte, byte, byte), value);
  }
}

TEST(GreyValue, IsTruncatedAfterScalingWithAHalfMore) {
  // 0.2989 * 255.5 = 76.4, 0.587 * 255.5 = 149.98, 0.114 * 255.5 = 29.1. (Pillow's rounding has 150 for green.)
  EXPECT_EQ(grey_value(255, 0, 0), 76);
  EXPECT_EQ(grey_value(0, 255, 0), 149);
  EXPECT_EQ(grey_value(0, 0, 255), 29);
  // (0.2989 * 59 + 0.587 * 62 + 0.114 * 63) * 255.5 / 255 = 61.33; (0.2989 * 10 + 0.587 * 20 + 0.114 * 30) = 18.15
  EXPECT_EQ(grey_value(59, 62, 63), 61);
  EXPECT_EQ(grey_value(10, 20, 30), 18);
  // 0.114 * 9 * 255.5 / 255 = 1.028, while 0.114 * 8 * ... = 0.914
  EXPECT_EQ(grey_value(0, 0, 9), 1);
  EXPECT_EQ(grey_value(0, 0, 8), 0);
}

/// One image: all pixels of one colour but the second, which is white.
std::string record(uint8_t label, uint8_t red, uint8_t green, uint8_t blue) {
  std::string bytes(1, static_cast<char>(label));
  for (const uint8_t value : {red, green, blue}) {
    std::string plane(primal::data::kCifarPixels, static_cast<char>(value));
    plane[1] = '\xff';
    bytes += plane;
  }
  return bytes;
}

class Cifar10 : public primal::tests::FolderTest {
 protected:
  Cifar10() {
    for (uint8_t i = 1; i <= 5; ++i) write("data_batch_" + std::to_string(i) + ".bin", record(i, i, i, i));
    write("test_batch.bin", record(9, 255, 0, 0) + record(0, 0, 0, 0));
  }
  std::string at(const std::string& name) const { return (folder / name).string(); }
};

TEST_F(Cifar10, TrainingImagesComeInTheOrderOfTheFiles) {
  const TokenSet set = read_cifar10(folder, CifarPart::train);
  EXPECT_EQ(set.labels, (std::vector<uint8_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(set.sequence(4)[0], 5);
}

TEST_F(Cifar10, AnImageIs1024GreyValuesByRows) {
  const TokenSet set = read_cifar10(folder, CifarPart::test);
  EXPECT_EQ(set.labels, (std::vector<uint8_t>{9, 0}));
  ASSERT_EQ(set.length(0), 1024);
  EXPECT_EQ(set.sequence(0)[0], 76);
  EXPECT_EQ(set.sequence(0)[1], 255);
  EXPECT_EQ(set.sequence(0)[1023], 76);
  EXPECT_EQ(set.sequence(1)[0], 0);
}

TEST_F(Cifar10, ClassesHaveTheNamesOfTheMetaFileIfItIsThere) {
  EXPECT_EQ(read_cifar10(folder, CifarPart::test).classes.front(), "airplane");
  EXPECT_EQ(read_cifar10(folder, CifarPart::test).classes.back(), "truck");
  write("batches.meta.txt", "a\r\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n");
  EXPECT_EQ(read_cifar10(folder, CifarPart::test).classes,
            (std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}));
  write("batches.meta.txt", "a\nb\n");
  EXPECT_EQ(error_of([&] { read_cifar10(folder, CifarPart::test); }),
            at("batches.meta.txt") + ": expected the names of 10 classes, one per line, got 2");
}

TEST_F(Cifar10, ABatchOfAnotherSizeIsRefused) {
  const std::string expected = ": expected records of 3073 bytes (label, 1024 red, 1024 green, 1024 blue), got ";
  write("test_batch.bin", record(9, 1, 1, 1) + "x");
  EXPECT_EQ(error_of([&] { read_cifar10(folder, CifarPart::test); }), at("test_batch.bin") + expected + "3074 bytes");
  write("test_batch.bin", "");
  EXPECT_EQ(error_of([&] { read_cifar10(folder, CifarPart::test); }), at("test_batch.bin") + expected + "0 bytes");
}

TEST_F(Cifar10, ALabelAbove9IsRefusedWithItsRecord) {
  write("data_batch_2.bin", record(9, 1, 1, 1) + record(10, 1, 1, 1));
  EXPECT_EQ(error_of([&] { read_cifar10(folder, CifarPart::train); }),
            at("data_batch_2.bin") + ": record 2: expected a label from 0 to 9, got 10");
}

TEST_F(Cifar10, AMissingBatchIsNamed) {
  std::filesystem::remove(folder / "data_batch_3.bin");
  EXPECT_EQ(error_of([&] { read_cifar10(folder, CifarPart::train); }),
            at("data_batch_3.bin") + ": cannot open: No such file or directory");
}

TEST(Cifar10Archive, HasItsPublishedSize) {
  const auto folder = primal::tests::real_data("images/cifar-10");
  if (folder.empty()) GTEST_SKIP() << primal::tests::kNoRealData;
  const TokenSet train = read_cifar10(folder, CifarPart::train), test = read_cifar10(folder, CifarPart::test);
  EXPECT_EQ(primal::tests::examples_by_class(train), std::vector<int64_t>(10, 5000));
  EXPECT_EQ(primal::tests::examples_by_class(test), std::vector<int64_t>(10, 1000));
  EXPECT_EQ(std::ssize(train.bytes), 50000 * 1024);
  // The first training image is a frog; its first pixel has the colour 59, 62, 63, its last 123, 92, 72.
  EXPECT_EQ(train.classes[train.labels[0]], "frog");
  EXPECT_EQ(train.sequence(0)[0], 61);
  EXPECT_EQ(train.sequence(0)[1023], 99);
  // The first test image is a cat; its second pixel has the colour 159, 111, 47.
  EXPECT_EQ(test.classes[test.labels[0]], "cat");
  EXPECT_EQ(test.sequence(0)[1], 118);
}

}  // namespace
