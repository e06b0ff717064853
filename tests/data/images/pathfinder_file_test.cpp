#include "data/images/pathfinder_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/interrupt.h"
#include "data/images/pathfinder_image.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

namespace fs = std::filesystem;
using primal::data::parse_pathfinder_file;
using primal::data::PathfinderFile;
using primal::data::PathfinderOptions;
using primal::data::PathfinderOrder;
using primal::tests::contains;
using primal::tests::error_of;
using primal::tests::FolderTest;

/// Easy pictures, which are made quickly.
PathfinderOrder order_of(int64_t count) {
  return {.options = primal::data::published_pathfinder(32, 6), .seed = 5, .count = count};
}

class PathfinderFileTest : public FolderTest {
 protected:
  std::string bytes_of(const PathfinderOrder& order) const {
    EXPECT_TRUE(primal::data::make_pathfinder_file(path, order));
    return primal::tests::read(path);
  }

  const fs::path path = folder / "a.images";
};

TEST_F(PathfinderFileTest, ReadsBackWhatThePainterPaints) {
  ASSERT_TRUE(primal::data::make_pathfinder_file(path, order_of(1005)));  // more than a batch
  const PathfinderFile file = primal::data::read_pathfinder_file(path);
  EXPECT_EQ(file.size, 32);
  EXPECT_TRUE(contains(file.how, "contour_length = 6\n"));
  EXPECT_TRUE(contains(file.how, "seed = 5\n"));
  ASSERT_EQ(file.pictures.examples(), 1005);
  EXPECT_EQ(file.pictures.classes, (std::vector<std::string>{"apart", "joined"}));
  const primal::data::PathfinderPainter painter(order_of(1).options);
  for (const int64_t k : {0, 1, 999, 1000, 1004}) {
    const primal::data::PathfinderImage image = painter.image(5, k);
    const auto pixels = file.pictures.sequence(k);
    EXPECT_EQ(std::vector<uint8_t>(pixels.begin(), pixels.end()), image.grey.pixels) << k;
    EXPECT_EQ(file.pictures.labels[k], image.label) << k;
  }
}

TEST_F(PathfinderFileTest, BytesDoNotDependOnTheNumberOfThreads) {
  PathfinderOrder order = order_of(60);
  const std::string alone = bytes_of(order);
  for (const int64_t threads : {2, 3}) {
    order.threads = threads;
    EXPECT_EQ(bytes_of(order), alone) << threads << " threads";
  }
}

TEST_F(PathfinderFileTest, AShorterFileHasTheFirstPicturesOfALongerOne) {
  const auto few = parse_pathfinder_file(bytes_of(order_of(5)), "few").pictures;
  const auto many = parse_pathfinder_file(bytes_of(order_of(20)), "many").pictures;
  EXPECT_TRUE(std::equal(few.bytes.begin(), few.bytes.end(), many.bytes.begin()));
}

TEST_F(PathfinderFileTest, ProgressRisesToTheEnd) {
  PathfinderOrder order = order_of(30);
  order.threads = 2;
  int64_t last = 0;
  order.progress = [&](int64_t done, int64_t of) {
    EXPECT_GE(done, last);
    EXPECT_EQ(of, 30);
    last = done;
  };
  bytes_of(order);
  EXPECT_EQ(last, 30);
}

TEST_F(PathfinderFileTest, AnInterruptLeavesTheFileOfBefore) {
  const std::string before = bytes_of(order_of(3));
  const primal::base::InterruptGuard guard;
  PathfinderOrder order = order_of(500);
  order.stop = [&] { return guard.interrupted(); };
  int64_t reached = 0;
  order.progress = [&](int64_t done, int64_t) {
    reached = done;
    if (done == 2) std::raise(SIGINT);
  };
  EXPECT_FALSE(primal::data::make_pathfinder_file(path, order));
  EXPECT_EQ(reached, 2);
  EXPECT_EQ(primal::tests::read(path), before);
}

TEST_F(PathfinderFileTest, OrdersThatCannotBeDoneAreRefused) {
  EXPECT_EQ(error_of([&] { primal::data::make_pathfinder_file(path, order_of(0)); }),
            "pathfinder: number of pictures 0 is not between 1 and 1000000000");
  PathfinderOrder order = order_of(1);
  order.threads = 0;
  EXPECT_EQ(error_of([&] { primal::data::make_pathfinder_file(path, order); }),
            "pathfinder: number of threads 0 is not between 1 and 1024");
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(PathfinderFileTest, AnErrorInAnyThreadArrives) {
  PathfinderOrder order = order_of(4);
  order.options.contour_length = 300;
  order.threads = 2;
  EXPECT_TRUE(contains(error_of([&] { primal::data::make_pathfinder_file(path, order); }), "found no place"));
}

TEST_F(PathfinderFileTest, TheNameSaysWhatIsInIt) {
  EXPECT_EQ(primal::data::pathfinder_file_name({}), "pathfinder32_contour_14.images");
}

/// A small file, and what is wrong with it after a change.
class BrokenPathfinderFile : public PathfinderFileTest {
 protected:
  std::string error() const {
    return error_of([&] { parse_pathfinder_file(bytes, "f"); });
  }

  void put(size_t at, uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  }
  /// Makes the head whole after a change, so that what is behind the checksum is looked at.
  void seal_head() { put(28, primal::base::crc32c(bytes.substr(0, 28) + bytes.substr(32, text_size())), 4); }
  void seal_pictures() { put(32 + text_size(), primal::base::crc32c(bytes.substr(36 + text_size())), 4); }
  size_t text_size() const { return static_cast<uint8_t>(bytes[24]) + 256U * static_cast<uint8_t>(bytes[25]); }

  std::string bytes = bytes_of(order_of(3));
};

TEST_F(BrokenPathfinderFile, AnotherKindOfFile) {
  bytes = "hello";
  EXPECT_EQ(error(), "f: is no packed file of pictures: expected it to begin with \"PRMLPATH\", got \"hello\"");
}

TEST_F(BrokenPathfinderFile, TooShort) {
  bytes.resize(20);
  EXPECT_EQ(error(), "f: file of 20 bytes is too short for a head of 32");
}

TEST_F(BrokenPathfinderFile, UnknownVersion) {
  put(8, 2, 4);
  EXPECT_EQ(error(), "f: version 2 is unknown, expected 1");
}

TEST_F(BrokenPathfinderFile, TextBeyondTheFile) {
  put(24, 0xffffffff, 4);
  EXPECT_TRUE(contains(error(), "f: a text of 4294967295 bytes does not fit into the file of "));
}

TEST_F(BrokenPathfinderFile, DamagedHead) {
  bytes[40] ^= 1;
  EXPECT_EQ(error(), "f: the head is damaged: its checksum does not fit");
}

TEST_F(BrokenPathfinderFile, ImpossibleSize) {
  put(12, 5000, 4);
  seal_head();
  EXPECT_EQ(error(), "f: size 5000 of the pictures is not between 1 and 4096");
}

TEST_F(BrokenPathfinderFile, NoPictures) {
  put(16, 0, 8);
  seal_head();
  EXPECT_EQ(error(), "f: expected at least one picture, got none");
}

TEST_F(BrokenPathfinderFile, MorePicturesThanBytes) {
  for (const uint64_t count : {uint64_t{4}, ~uint64_t{0}}) {
    put(16, count, 8);
    seal_head();
    EXPECT_EQ(error(), "f: expected " + std::to_string(count) +
                           " pictures of 32 x 32 pixels, got 3079 bytes, which are not as many");
  }
}

TEST_F(BrokenPathfinderFile, CutOrContinued) {
  bytes += "x";
  EXPECT_TRUE(contains(error(), "got 3080 bytes, which are not as many"));
  bytes.resize(bytes.size() - 2);
  EXPECT_TRUE(contains(error(), "got 3078 bytes, which are not as many"));
}

TEST_F(BrokenPathfinderFile, DamagedPictures) {
  bytes.back() ^= 1;
  EXPECT_EQ(error(), "f: pictures 0 to 2 are damaged: their checksum does not fit");
}

TEST_F(BrokenPathfinderFile, AnUnknownLabel) {
  bytes[36 + text_size() + 1] = 7;
  seal_pictures();
  EXPECT_EQ(error(), "f: picture 1: expected the label 0 or 1, got 7");
}

TEST_F(BrokenPathfinderFile, NoFileAtAll) {
  EXPECT_TRUE(contains(error_of([&] { primal::data::read_pathfinder_file(folder / "none"); }), "none: cannot open"));
}

}  // namespace
