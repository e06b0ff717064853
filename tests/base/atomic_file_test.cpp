#include "base/atomic_file.h"

#include <gtest/gtest.h>

#include <iterator>
#include <string>

#include "base/mapped_file.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

namespace fs = std::filesystem;
using primal::base::AtomicFile;
using primal::base::MappedFile;
using primal::base::write_file_atomically;
using primal::tests::error_of;

class AtomicFileTest : public primal::tests::FolderTest {
 protected:
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); }
};

TEST_F(AtomicFileTest, TheWholeFileAppearsAtOnce) {
  const fs::path path = write("a", "before");
  {
    AtomicFile file(path);
    file.write("aft", 3);
    EXPECT_EQ(primal::tests::read(path), "before");
    file.write("er", 2);
    file.commit();
  }
  EXPECT_EQ(primal::tests::read(path), "after");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, WithoutCommitNothingChanges) {
  const fs::path path = write("a", "before");
  { AtomicFile(path).write("x", 1); }
  EXPECT_EQ(primal::tests::read(path), "before");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, OneCallWritesAnyBytes) {
  const std::string bytes("a\0b", 3);
  write_file_atomically(folder / "a", bytes);
  EXPECT_EQ(primal::tests::read(folder / "a"), bytes);
  write_file_atomically(folder / "a", "");
  EXPECT_EQ(primal::tests::read(folder / "a"), "");
  EXPECT_EQ(error_of([&] { write_file_atomically(folder, "x"); }),
            folder.string() + ": is a directory, expected a file to write");
}

TEST_F(AtomicFileTest, AMappedFileHasTheBytesOfTheFile) {
  EXPECT_EQ(MappedFile(write("a", "text"), "a file").text(), "text");
  EXPECT_TRUE(MappedFile(write("empty", ""), "a file").bytes().empty());
  EXPECT_EQ(error_of([&] { MappedFile(folder, "a file"); }), folder.string() + ": is a directory, expected a file");
}

}  // namespace
