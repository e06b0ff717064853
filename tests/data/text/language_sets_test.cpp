#include "data/text/language_sets.h"

#include <gtest/gtest.h>

#include <set>

#include "support/errors.h"
#include "support/files.h"

namespace {

using namespace primal::data;
using primal::tests::contains;
using primal::tests::error_of;

std::string text_of(const std::vector<TextPiece>& pieces) {
  std::string text;
  for (const TextSource& source : open_pieces(pieces)) text += source.text();
  return text;
}

class OwnText : public primal::tests::FolderTest {
 protected:
  std::string whole(const LanguageParts& parts) {
    return text_of(parts.train) + text_of(parts.validation) + text_of(parts.test);
  }
};

TEST_F(OwnText, HoldsTheEndOutAtLineEnds) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  const LanguageParts parts = own_text(write("book.txt", text));
  EXPECT_EQ(parts.name, "book.txt");
  EXPECT_EQ(whole(parts), text);
  const auto share = [&](const auto& part) {
    return static_cast<double>(text_of(part).size()) / static_cast<double>(text.size());
  };
  EXPECT_NEAR(share(parts.validation), 0.05, 0.002);
  EXPECT_NEAR(share(parts.test), 0.05, 0.002);
  EXPECT_TRUE(text_of(parts.validation).starts_with("line "));
  EXPECT_TRUE(text_of(parts.test).starts_with("line "));
}

TEST_F(OwnText, WithoutLineEndsItIsCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 101; ++i) text += "\u20ac";  // 3 bytes
  const LanguageParts parts = own_text(write("line.txt", text));
  EXPECT_EQ(whole(parts), text);
  for (const auto& part : {parts.train, parts.validation, parts.test}) {
    EXPECT_FALSE(part.empty());
    EXPECT_EQ(text_of(part).size() % 3, 0U);
  }
}

TEST_F(OwnText, ALongLineAtTheEndIsCut) {
  const std::string text = "a\nb\n" + std::string(1000, 'c') + "\n";
  const LanguageParts parts = own_text(write("a.txt", text));
  EXPECT_EQ(whole(parts), text);
  EXPECT_GT(text_of(parts.train).size(), 850U);
}

TEST_F(OwnText, FewLinesStillMakeThreeParts) {
  const std::string text = "first of three\nsecond\nthird\n";
  const LanguageParts parts = own_text(write("a.txt", text));
  EXPECT_EQ(text_of(parts.train), "first of three\n");
  EXPECT_EQ(text_of(parts.validation), "second\n");
  EXPECT_EQ(text_of(parts.test), "third\n");
}

TEST_F(OwnText, GivenFilesAreTakenWhole) {
  const auto train = write("a.txt", std::string(99, 'a') + "\n"), other = write("b.txt", "b");
  const LanguageParts both = own_text(train, other, other);
  EXPECT_EQ(text_of(both.train).size(), 100U);
  EXPECT_EQ(text_of(both.validation), "b");
  const LanguageParts one = own_text(train, "", other);
  EXPECT_EQ(text_of(one.train).size(), 95U);
  EXPECT_EQ(text_of(one.validation).size(), 5U);
  EXPECT_EQ(text_of(own_text(train, other).test).size(), 5U);
  EXPECT_EQ(text_of(own_text(other, other, other).train), "b");  // nothing to cut: any size will do
}

TEST_F(OwnText, ErrorsNameTheFile) {
  const auto small = write("small.txt", "0123456789"), empty = write("empty.txt", ""), good = write("g", "x");
  EXPECT_EQ(error_of([&] { own_text(small); }),
            small.string() +
                ": expected at least 20 bytes, of which 5 % are held out for each of data.validation and "
                "data.test that is not given, got 10");
  EXPECT_EQ(error_of([&] { own_text(empty); }), empty.string() + ": is empty, expected text");
  EXPECT_EQ(error_of([&] { own_text(good, empty, good); }), empty.string() + ": is empty, expected text");
  EXPECT_EQ(error_of([&] { own_text(folder); }), folder.string() + ": is a directory, expected a text file");
  EXPECT_TRUE(contains(error_of([&] { own_text(folder / "none"); }), "none: cannot open: No such file"));
}

class LanguageSets : public primal::tests::FolderTest {
 protected:
  void write_wikitext(const std::string& name) {
    for (const char* part : {"train", "valid", "test"}) {
      write(name + "/wiki." + part + ".tokens", " \n = " + std::string(part) + " = \n \n words \n");
    }
  }
  SearchPath search() const { return {.directories = {folder / "none", folder}}; }
};

TEST_F(LanguageSets, WikitextIsThreeFilesOfArticles) {
  for (const std::string place : {"language/wikitext-2", "wikitext-103"}) {
    write_wikitext(place);
    const std::string name = std::filesystem::path(place).filename().string();
    const LanguageParts parts = language_parts(name, search());
    EXPECT_EQ(parts.name, name);
    EXPECT_EQ(parts.documents, Documents::articles);
    EXPECT_TRUE(contains(text_of(parts.validation), "valid"));
    EXPECT_TRUE(contains(text_of(parts.test), "test"));
    EXPECT_EQ(find_language_set(name, search()), folder / place);
  }
  std::filesystem::remove(folder / "wikitext-103" / "wiki.test.tokens");
  EXPECT_EQ(error_of([&] { language_parts("wikitext-103", search()); }),
            (folder / "wikitext-103/wiki.test.tokens").string() + ": expected it beside wiki.train.tokens, got none");
}

TEST_F(LanguageSets, Enwik8IsDividedInOrder) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += static_cast<char>('a' + i % 26);
  write("language/enwik8/enwik8", text);
  const LanguageParts all = language_parts("enwik8", search());
  EXPECT_EQ(text_of(all.train), text.substr(0, 1800));
  EXPECT_EQ(text_of(all.validation), text.substr(1800, 100));
  EXPECT_EQ(text_of(all.test), text.substr(1900));
  const LanguageParts some = language_parts("enwik8", search(), 1000);
  EXPECT_EQ(text_of(some.train), text.substr(0, 900));
  EXPECT_EQ(text_of(some.test), text.substr(950, 50));
  EXPECT_TRUE(contains(error_of([&] { language_parts("enwik8", search(), 3000); }),
                       "enwik8: expected at least the 3000 bytes of data.bytes, got 2000"));
  EXPECT_TRUE(contains(error_of([&] { language_parts("enwik8", search(), 999); }), "at least 1000 bytes"));
  write_wikitext("wikitext-2");
  EXPECT_TRUE(contains(error_of([&] { language_parts("wikitext-2", search(), 10); }), "data.bytes: expected 0"));
}

TEST_F(LanguageSets, PythonSourceIsFilesBesideTheSetsOfAPackage) {
  const std::string packages = "lib/python3.11/site-packages/";
  for (int i = 0; i < 40; ++i) write(packages + "torch/nn/m" + std::to_string(100 + i) + ".py", "x = 1\n");
  write(packages + "torch/nn/__init__.py", "import m\n");
  write(packages + "torch/nn/empty.py", "");
  write(packages + "torch/nn/notes.txt", "no source");
  write(packages + "torch/version.py", "elsewhere");
  write(packages + "aeon/datasets/data/readme", "");
  const SearchPath inside{.directories = {folder / packages / "aeon" / "datasets" / "data"}};
  const LanguageParts parts = language_parts("python-source", inside);
  EXPECT_EQ(parts.validation.size(), 3U);
  EXPECT_EQ(parts.test.size(), 2U);
  EXPECT_EQ(parts.train.size(), 36U);
  EXPECT_EQ(parts.validation[0].file.filename(), "__init__.py");
  EXPECT_EQ(parts.test[0].file.filename(), "m109.py");
  EXPECT_EQ(parts.documents, Documents::pieces);
  std::set<std::string> files;
  for (const auto& part : {parts.train, parts.validation, parts.test}) {
    for (const TextPiece& piece : part) files.insert(piece.file.string());
  }
  EXPECT_EQ(files.size(), 41U);
}

TEST_F(LanguageSets, AMissingOneSaysWhatWasLookedForAndHowToGetIt) {
  EXPECT_EQ(error_of([&] { language_parts("enwik8", search()); }),
            "data of language/enwik8: expected DIR/enwik8/enwik8 or DIR/language/enwik8/enwik8 or DIR/enwik8, got none "
            "for DIR = " +
                (folder / "none").string() + " (not there), " + folder.string() +
                "; primal data make language/enwik8 fetches it, or set PRIMAL_DATA to the directory that has it");
  EXPECT_EQ(find_language_set("python-source", search()), std::nullopt);
  EXPECT_TRUE(contains(error_of([&] { language_parts("python-source", {}); }), "(no directory)"));
}

TEST_F(LanguageSets, AnUnknownNameIsAnsweredByTheNearest) {
  EXPECT_EQ(
      error_of([&] { language_parts("wikitext2", search()); }),
      "data.set: expected one of wikitext-2, wikitext-103, enwik8, python-source, got \"wikitext2\"; did you mean "
      "wikitext-2?");
}

}  // namespace
