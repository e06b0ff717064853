#include "data/series/locate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/nearest.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

namespace fs = std::filesystem;
using primal::base::nearest;
using primal::data::list;
using primal::data::locate;
using primal::data::search_path;
using primal::data::SearchPath;
using primal::tests::error_of;

class Locate : public primal::tests::FolderTest {
 protected:
  void add_set(const fs::path& directory, const std::string& name) const {
    write(directory / (name + "_TRAIN.ts"), "");
    write(directory / (name + "_TEST.ts"), "");
  }
};

TEST_F(Locate, TheSearchPathIsOptionEnvironmentDataAndWheel) {
  const fs::path wheel = "venv/lib/python3.11/site-packages/aeon/datasets/data";
  fs::create_directories(folder / wheel);
  fs::create_directories(folder / "venv/lib/python3.12");  // without aeon
  const SearchPath path = search_path("/option", ":/one:two::", folder / "venv");
  EXPECT_EQ(path.directories, (std::vector<fs::path>{"/option", "/one", "two", "data", folder / wheel}));
  EXPECT_EQ(search_path({}, {}, {}).directories, (std::vector<fs::path>{"data"}));
  EXPECT_EQ(search_path({}, {}, folder / "none").directories, (std::vector<fs::path>{"data"}));
}

TEST_F(Locate, ASetMayBeInAnyOfThreePlaces) {
  add_set("one/A", "A");
  add_set("one/uea/B", "B");
  add_set("one", "C");
  const SearchPath path{{folder / "one"}};
  EXPECT_EQ(locate(path, "A").train, folder / "one/A/A_TRAIN.ts");
  EXPECT_EQ(locate(path, "B").test, folder / "one/uea/B/B_TEST.ts");
  EXPECT_EQ(locate(path, "C").train, folder / "one/C_TRAIN.ts");
  EXPECT_EQ(locate(path, "C").name, "C");
}

TEST_F(Locate, TheFirstDirectoryThatHasBothFilesWins) {
  write("one/A/A_TRAIN.ts", "");
  add_set("two/A", "A");
  add_set("three/A", "A");
  const SearchPath path{{folder / "one", folder / "two", folder / "three"}};
  EXPECT_EQ(locate(path, "A").test, folder / "two/A/A_TEST.ts");
  ASSERT_EQ(list(path).size(), 1U);
  EXPECT_EQ(list(path)[0].directory, folder / "two/A");
}

TEST_F(Locate, AMissingSetSaysWhatWhereAndHow) {
  add_set("one/JapaneseVowels", "JapaneseVowels");
  const SearchPath path{{folder / "one", folder / "none"}};
  const std::string start = "data set \"japanesevowel\": expected japanesevowel_TRAIN.ts and japanesevowel_TEST.ts in ";
  EXPECT_EQ(error_of([&] { locate(path, "japanesevowel"); }),
            start + "DIR/japanesevowel, DIR/uea/japanesevowel or DIR, got none for DIR = " + folder.string() +
                "/one, " + folder.string() +
                "/none (not there); did you mean JapaneseVowels? If not, put the files of the UEA archive into "
                "data/japanesevowel or set PRIMAL_DATA to the directory that has them");
}

TEST_F(Locate, ANameIsNotAPath) {
  for (const char* name : {"", ".", "..", "../A", "a/b", "a\nb", "\xff"}) {
    EXPECT_TRUE(error_of([&] {
                  locate({{folder}}, name);
                }).starts_with("data set: expected a name such as JapaneseVowels, got \""));
  }
}

TEST_F(Locate, ListGivesEverySetByName) {
  add_set("one/uea/B", "B");
  add_set("one/A", "A");
  add_set("two", "C");
  write("two/D/D_TRAIN.ts", "");  // half a set
  std::string names;
  for (const auto& found : list({{folder / "two", folder / "one", folder / "none"}})) names += found.name;
  EXPECT_EQ(names, "ABC");
}

TEST(Nearest, TakesTheFewestChangesWhateverTheCase) {
  const std::vector<std::string> names = {"rank", "eta", "heads", "width"};
  EXPECT_EQ(nearest("rnk", names), "rank");
  EXPECT_EQ(nearest("HEAD", names), "heads");
  EXPECT_EQ(nearest("eta", names), "eta");
  EXPECT_EQ(nearest("zzzzzz", names), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(10'000, 'a'), std::vector{std::string(9'000, 'a')}), std::string(9'000, 'a'));
}

}  // namespace
