#include "tasks/language/data_info.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/errors.h"
#include "support/files.h"
#include "tasks/language/makers.h"

namespace primal::tasks {
namespace {

using tests::contains;
using tests::error_of;

class LanguageInfo : public tests::FolderTest {
 protected:
  LanguageInfo() {
    write("wikitext-2/wiki.train.tokens", " \n = One = \n \n a b <unk> a \n \n = Two = \n \n c \n");
    write("wikitext-2/wiki.valid.tokens", " \n = One = \n \n a d \n");
    write("wikitext-2/wiki.test.tokens", " \n = One = \n \n a");
  }
  data::SearchPath search() const { return {.directories = {folder}}; }
};

TEST_F(LanguageInfo, CountsDocumentsWordsAndUnknownOnes) {
  const auto info = language_info("language/wikitext-2", search());
  ASSERT_TRUE(info.has_value());
  const nlohmann::json& train = info->json.at(0);
  EXPECT_EQ(train.at("part"), "TRAIN");
  EXPECT_EQ(train.at("documents"), 2);
  EXPECT_EQ(train.at("words"), 11);
  EXPECT_EQ(train.at("lines"), 8);
  EXPECT_EQ(train.at("vocabulary"), 6);  // = One Two a b c
  EXPECT_EQ(train.at("unknown"), 1);
  EXPECT_EQ(info->json.at(1).at("unknown"), 1);
  EXPECT_EQ(info->json.at(2).at("lines"), 4);  // the last without its end
  EXPECT_EQ(info->json.at(2).at("unknown"), 0);
  EXPECT_TRUE(contains(info->text, "unknown   1 words, 20.00 %"));
}

TEST_F(LanguageInfo, OtherNamesAreForOtherFamilies) {
  for (const char* name : {"wikitext-2", "language/none", "mine.csv", ""}) {
    EXPECT_FALSE(language_info(name, search()).has_value()) << name;
  }
  EXPECT_TRUE(contains(error_of([&] { language_info("language/enwik8", search()); }), "primal data make"));
}

TEST_F(LanguageInfo, ListsWhatIsThere) {
  const auto sets = language_data_sets(search());
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets[0].name, "language/wikitext-2");
  EXPECT_EQ(sets[0].place, folder / "wikitext-2");
}

TEST_F(LanguageInfo, SubwordsAreMadeOfAFileByAFlag) {
  const DataMaker& maker = language_makers().front();
  ASSERT_EQ(maker.name, "language/subwords");
  MakeRequest request{.folder = folder / "out", .options = {{"train", write("a.txt", "abc abc\n")}, {"size", "x"}}};
  EXPECT_EQ(error_of([&] { maker.make(request); }), "--size: expected a whole number, got \"x\"");
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

}  // namespace
}  // namespace primal::tasks
