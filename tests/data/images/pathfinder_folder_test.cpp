#include "data/images/pathfinder_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "base/interrupt.h"
#include "data/images/grey_png.h"
#include "data/images/pathfinder_file.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

namespace fs = std::filesystem;
using primal::data::LineSource;
using primal::data::parse_pathfinder_metadata;
using primal::data::PathfinderEntry;
using primal::data::PathfinderFolder;
using primal::data::PathfinderOrder;
using primal::data::read_pathfinder_folder;
using primal::tests::contains;
using primal::tests::error_of;

std::vector<PathfinderEntry> entries_of(const std::string& text) {
  return parse_pathfinder_metadata(LineSource("m", text));
}

TEST(PathfinderMetadata, ALineNamesThePictureAndItsLabel) {
  const std::vector<PathfinderEntry> entries =
      entries_of("imgs/0 sample_0.png 0 0 1.0 6 2 2 0.5 1 1\n\nimgs/0\tsample_1.png 1 1\r\n");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].image, "imgs/0/sample_0.png");
  EXPECT_EQ(entries[0].label, 0);
  EXPECT_EQ(entries[1].image, "imgs/0/sample_1.png");
  EXPECT_EQ(entries[1].label, 1);
  EXPECT_EQ(entries[1].line, 3);
}

TEST(PathfinderMetadata, BrokenLinesAreNamed) {
  const std::string good = "imgs/0 a.png 0 1\n";
  EXPECT_EQ(error_of([&] { entries_of(good + "imgs/0 b.png 1\n"); }),
            "m:2: expected at least 4 words (folder, file, number, label), got 3");
  EXPECT_EQ(error_of([&] { entries_of("hello\n"); }),
            "m:1: expected at least 4 words (folder, file, number, label), got 1");
  EXPECT_EQ(error_of([&] { entries_of(good + "imgs/0 b.png 1 2\n"); }),
            "m:2: expected the label 0 or 1 as the 4th word, got \"2\"");
  for (const std::string where : {"/etc", "imgs/../..", ".."}) {
    EXPECT_TRUE(
        contains(error_of([&] { entries_of(where + " b.png 1 1\n"); }), "m:1: expected a picture below the folder"));
  }
}

class PathfinderFolderTest : public primal::tests::FolderTest {
 protected:
  /// Easy pictures, which are made quickly.
  static PathfinderOrder order_of(int64_t count) {
    return {.options = primal::data::published_pathfinder(32, 6), .seed = 5, .count = count};
  }
};

#ifdef PRIMAL_HAVE_PNG

/// A folder with three pictures.
class ThreePictures : public PathfinderFolderTest {
 protected:
  ThreePictures() { EXPECT_TRUE(primal::data::make_pathfinder_folder(folder, order_of(3))); }

  std::string error() const {
    return error_of([&] { read_pathfinder_folder(folder, 32); });
  }
};

TEST_F(PathfinderFolderTest, HasThePicturesOfThePackedFile) {
  PathfinderOrder order = order_of(1003);  // more than a batch
  ASSERT_TRUE(primal::data::make_pathfinder_folder(folder, order));
  ASSERT_TRUE(primal::data::make_pathfinder_file(folder / "packed", order));
  int64_t reached = 0;
  const PathfinderFolder read = read_pathfinder_folder(folder, 32, [&](int64_t done, int64_t of) {
    EXPECT_EQ(of, 1003);
    reached = done;
  });
  const primal::data::TokenSet packed = primal::data::read_pathfinder_file(folder / "packed").pictures;
  EXPECT_EQ(reached, 1003);
  EXPECT_EQ(read.empty_files, 0);
  EXPECT_EQ(read.pictures.labels, packed.labels);
  EXPECT_EQ(read.pictures.bytes, packed.bytes);
  EXPECT_EQ(read.pictures.ends, packed.ends);
  EXPECT_EQ(read.pictures.classes, packed.classes);
}

TEST_F(ThreePictures, MetadataAreLinesLikeThoseOfTheRelease) {
  const std::string text = primal::tests::read(folder / "metadata/0.npy");
  EXPECT_TRUE(text.starts_with("imgs/0 sample_0.png 0 "));
  EXPECT_TRUE(text.ends_with(" 1.0 6 2 2 0.5 1 1\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
}

TEST_F(ThreePictures, BatchesAreReadByNumber) {
  const auto three = read_pathfinder_folder(folder, 32).pictures;
  write("metadata/10.npy", "imgs/0 sample_0.png 0 0\n");
  write("metadata/2.npy", "imgs/0 sample_1.png 0 1\n");
  const auto five = read_pathfinder_folder(folder, 32).pictures;
  ASSERT_EQ(five.examples(), 5);
  EXPECT_TRUE(std::ranges::equal(five.sequence(3), three.sequence(1)));
  EXPECT_TRUE(std::ranges::equal(five.sequence(4), three.sequence(0)));
  EXPECT_EQ(five.labels[3], 1);
}

TEST_F(ThreePictures, AnEmptyFileIsPassedOverAndCounted) {
  write("imgs/0/sample_1.png", "");
  const PathfinderFolder read = read_pathfinder_folder(folder, 32);
  EXPECT_EQ(read.empty_files, 1);
  EXPECT_EQ(read.pictures.examples(), 2);
}

TEST_F(ThreePictures, AMissingPictureIsAnErrorOfItsLine) {
  fs::remove(folder / "imgs/0/sample_1.png");
  EXPECT_TRUE(contains(error(), "metadata/0.npy:2: cannot read "));
  EXPECT_TRUE(contains(error(), "imgs/0/sample_1.png: No such file or directory"));
}

TEST_F(ThreePictures, AnotherSizeIsRefused) {
  write("imgs/0/sample_2.png", primal::data::encode_grey_png(2, 1, std::vector<uint8_t>{1, 2}));
  EXPECT_TRUE(contains(error(), "metadata/0.npy:3: "));
  EXPECT_TRUE(contains(error(), "imgs/0/sample_2.png has 2 x 1 pixels, expected 32 x 32"));
}

TEST_F(ThreePictures, ADamagedPictureIsNamed) {
  write("imgs/0/sample_0.png", "no picture");
  EXPECT_TRUE(contains(error(), "imgs/0/sample_0.png: not a sound PNG file"));
}

TEST_F(ThreePictures, ANumpyArrayIsRefused) {
  write("metadata/0.npy", "\x93NUMPY\x01");
  EXPECT_TRUE(
      contains(error(), "metadata/0.npy: expected lines of text as the Long Range Arena has them, got a NumPy"));
}

TEST_F(ThreePictures, AFolderWithPicturesIsNotWrittenAgain) {
  EXPECT_EQ(error_of([&] { primal::data::make_pathfinder_folder(folder, order_of(1)); }),
            folder.string() + ": has imgs/ already; expected a folder without pictures");
}

TEST_F(PathfinderFolderTest, AFolderWithoutMetadataIsRefused) {
  EXPECT_TRUE(contains(error_of([&] { read_pathfinder_folder(folder, 32); }), "metadata: cannot list: No such file"));
  fs::create_directory(folder / "metadata");
  EXPECT_TRUE(contains(error_of([&] { read_pathfinder_folder(folder, 32); }), "expected files <batch>.npy, got none"));
  write("metadata/0.npy", "\n");
  EXPECT_EQ(error_of([&] { read_pathfinder_folder(folder, 32); }),
            folder.string() + ": expected at least one picture, got none");
}

TEST_F(PathfinderFolderTest, AnInterruptLeavesNoMetadataOfWhatIsNotThere) {
  const primal::base::InterruptGuard guard;
  PathfinderOrder order = order_of(100);
  order.stop = [&] { return guard.interrupted(); };
  order.progress = [](int64_t, int64_t) { std::raise(SIGINT); };
  EXPECT_FALSE(primal::data::make_pathfinder_folder(folder, order));
  EXPECT_TRUE(fs::is_empty(folder / "metadata"));
}

#else

TEST_F(PathfinderFolderTest, ABuildWithoutPngSaysSoBeforeItWorks) {
  EXPECT_TRUE(contains(error_of([&] { primal::data::make_pathfinder_folder(folder, order_of(3)); }), "no PNG support"));
  EXPECT_TRUE(contains(error_of([&] { read_pathfinder_folder(folder, 32); }), "no PNG support"));
  EXPECT_TRUE(fs::is_empty(folder));
}

#endif

}  // namespace
