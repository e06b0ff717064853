// What a report learns of a Long Range Arena run, on sets and answers made by hand.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/tokens/listops_expression.h"
#include "run/case_details.h"
#include "tasks/lra/cases.h"
#include "tasks/lra/examiner.h"

namespace primal::tasks {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

LraSource source_of(const std::string& name, int64_t tokens, int64_t symbols = 256) {
  LraSource source;
  source.name = name;
  source.tokens = tokens;
  source.symbols = symbols;
  return source;
}

LraSource image_source(int64_t side) {
  LraSource source = source_of("image", side * side);
  source.is_image = true;
  return source;
}

const LraSource kListOps = source_of("listops", 2000, 15), kText = source_of("text", 4000), kImage = image_source(2);

/// predicted: the class, and how far its logit is above the others.
run::Evaluation examined(const data::TokenSet& set, const LraSource& source,
                         const std::vector<std::pair<int64_t, float>>& predicted, bool in_detail = true) {
  LraExaminer examiner(set, source, set.classes, in_detail);
  const auto classes = std::ssize(set.classes);
  // One by one from the last: what comes out must not depend on the order.
  for (int64_t i = std::ssize(predicted) - 1; i >= 0; --i) {
    const auto [answer, above] = predicted[static_cast<size_t>(i)];
    models::Classification one{.outputs = at::zeros({1, classes}), .terms = {}};
    one.outputs[0][answer] = above;
    examiner.add(std::vector<int64_t>{i}, one);
  }
  return examiner.result();
}

run::CaseDetails details_of(const data::TokenSet& set, const LraSource& source,
                            const std::vector<std::pair<int64_t, float>>& predicted) {
  return run::case_details(examined(set, source, predicted));
}

data::TokenSet two_classes() { return {.classes = {"bad", "good"}}; }

std::vector<std::string> lines_of(const run::CaseGroup& group) {
  std::vector<std::string> lines;
  for (const auto& [name, cases, right] : group.rows) {
    lines.push_back(name + ": " + std::to_string(right) + " of " + std::to_string(cases));
  }
  return lines;
}

data::TokenSet listops(const std::vector<std::pair<uint8_t, int64_t>>& roots_and_lengths) {
  data::TokenSet set{.classes = {"0", "1", "2"}};
  for (const auto& [root, length] : roots_and_lengths) {
    std::vector<uint8_t> tokens(static_cast<size_t>(length), 1);
    tokens.front() = root;
    set.add(1, tokens);
  }
  return set;
}

TEST(LraExaminer, WithoutDetailsThereIsTheScoreOnly) {
  const data::TokenSet set = listops({{data::kListOpsMin, 501}, {data::kListOpsMax, 900}});
  const run::Evaluation evaluation = examined(set, kListOps, {{1, 1.0F}, {0, 1.0F}}, /*in_detail=*/false);
  EXPECT_EQ(evaluation.score, 0.5);
  for (const char* key : {"reference_lines", "groups", "pictures", "texts"}) {
    EXPECT_FALSE(evaluation.details.contains(key)) << key;
  }
}

TEST(LraExaminer, ListOpsIsGroupedByRootAndLength) {
  const data::TokenSet set = listops({{data::kListOpsSum, 501},
                                      {data::kListOpsMin, 750},
                                      {data::kListOpsMin, 751},
                                      {data::kListOpsMax, 1999},
                                      {data::kListOpsMedian, 1000}});
  const run::CaseDetails details = details_of(set, kListOps, {{1, 1.0F}, {1, 1.0F}, {0, 1.0F}, {2, 1.0F}, {1, 1.0F}});
  ASSERT_EQ(details.groups.size(), 2U);
  EXPECT_EQ(details.groups[0].name, "root operator");
  EXPECT_EQ(lines_of(details.groups[0]),
            (std::vector<std::string>{"MIN: 1 of 2", "MAX: 0 of 1", "MED: 1 of 1", "SM: 1 of 1"}));
  EXPECT_EQ(details.groups[1].name, "length");
  EXPECT_EQ(lines_of(details.groups[1]),
            (std::vector<std::string>{"501 to 750: 2 of 2", "751 to 1000: 1 of 2", "1751 to 2000: 0 of 1"}));
  EXPECT_TRUE(details.pictures.empty());
  EXPECT_TRUE(details.texts.empty()) << "its tokens are no letters";
}

TEST(LraExaminer, AnExpressionWithoutAnOperatorHasItsOwnRow) {
  const data::TokenSet set = listops({{7, 1}, {data::kListOpsMin, 1}});
  const run::CaseDetails details = details_of(set, kListOps, {{1, 1.0F}, {0, 1.0F}});
  ASSERT_EQ(details.groups.size(), 1U) << "all lengths are the same";
  EXPECT_EQ(lines_of(details.groups[0]), (std::vector<std::string>{"none: 1 of 1", "MIN: 0 of 1"}));
}

TEST(LraExaminer, ExamplesThatWereNotAskedDoNotCount) {
  const data::TokenSet set = listops({{data::kListOpsMin, 501}, {data::kListOpsMax, 900}, {data::kListOpsSum, 900}});
  const run::CaseDetails details = details_of(set, kListOps, {{1, 1.0F}, {0, 1.0F}});
  EXPECT_EQ(lines_of(details.groups.at(0)), (std::vector<std::string>{"MIN: 1 of 1", "MAX: 0 of 1"}));
}

TEST(LraExaminer, APairIsAsLongAsBothOfItsTexts) {
  data::TokenSet set{.per_example = 2, .classes = {"no", "yes"}};
  set.add(0, bytes_of("abc"), bytes_of("de"));
  set.add(1, bytes_of("abcdef"), bytes_of("ghi"));
  const run::CaseDetails details = details_of(set, kText, {{0, 1.0F}, {0, 1.0F}});
  EXPECT_EQ(details.groups.at(0).name, "length of both");
  EXPECT_EQ(lines_of(details.groups[0]), (std::vector<std::string>{"5: 1 of 1", "9: 0 of 1"}));
  EXPECT_EQ(details.texts.at(0).texts, (std::vector<std::string>{"abcdef", "ghi"}));
}

TEST(LraExaminer, LengthsMakeAtMostEightRows) {
  for (const int64_t longest : {8, 9, 41, 79, 1000, 3999, 4000, 123456}) {
    data::TokenSet set = two_classes();
    for (int64_t i = 1; i <= 50; ++i) set.add(0, std::vector<uint8_t>(static_cast<size_t>(1 + (longest - 1) * i / 50)));
    const run::CaseDetails details = details_of(set, kText, std::vector<std::pair<int64_t, float>>(50, {0, 1.0F}));
    EXPECT_LE(details.groups.at(0).rows.size(), 8U) << longest;
    EXPECT_GE(details.groups[0].rows.size(), 3U) << longest;
  }
}

TEST(LraExaminer, ScoresAreComparedWithGuesses) {
  const data::TokenSet set = listops({{data::kListOpsMin, 501}});
  const auto known = details_of(set, kListOps, {{1, 1.0F}}).reference_lines;
  ASSERT_EQ(known.size(), 3U);
  EXPECT_EQ(known[0].score, 0.172);
  EXPECT_EQ(known[1].name, "first token alone (expected of published data)");
  EXPECT_EQ(known[2].score, 0.51);
  data::TokenSet text = two_classes();
  text.add(0, bytes_of("a"));
  const auto chance = details_of(text, kText, {{0, 1.0F}}).reference_lines;
  ASSERT_EQ(chance.size(), 1U);
  EXPECT_EQ(chance[0].name, "chance");
  EXPECT_EQ(chance[0].score, 0.5);
}

TEST(LraExaminer, TheSurestWrongTextsAreShown) {
  data::TokenSet set = two_classes();
  std::vector<std::pair<int64_t, float>> answers;
  for (int i = 0; i < 30; ++i) {
    set.add(i % 2, bytes_of("text " + std::to_string(i)));
    answers.emplace_back(0, 0.1F * static_cast<float>(i));  // wrong: the odd ones
  }
  answers[27].second = answers[25].second;
  const auto texts = details_of(set, kText, answers).texts;
  ASSERT_EQ(texts.size(), 10U);
  EXPECT_EQ(texts[0].texts, std::vector<std::string>{"text 29"});
  EXPECT_EQ(texts[0].answer.truth, "good");
  EXPECT_EQ(texts[0].answer.predicted, "bad");
  EXPECT_NEAR(texts[0].answer.share, 1 / (1 + std::exp(-2.9)), 1e-4);
  EXPECT_EQ(texts[1].texts, std::vector<std::string>{"text 25"}) << "as sure as 27, and before it";
  EXPECT_EQ(texts[2].texts, std::vector<std::string>{"text 27"});
  EXPECT_EQ(texts[9].texts, std::vector<std::string>{"text 11"});
}

TEST(LraExaminer, AnswersThatAreNotANumberDoNotSpoilTheOrder) {
  data::TokenSet set = two_classes();
  for (const char* text : {"a", "b", "c"}) set.add(1, bytes_of(text));
  const auto texts = details_of(set, kText, {{0, NAN}, {0, 1.0F}, {0, 2.0F}}).texts;
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[0].texts, std::vector<std::string>{"c"});
  EXPECT_EQ(texts[2].answer.share, 0);
}

TEST(LraExaminer, WrongPicturesComeFirstAndRightOnesAreDrawnEvenly) {
  data::TokenSet set = two_classes();
  std::vector<std::pair<int64_t, float>> answers;
  for (int i = 0; i < 50; ++i) {
    const auto grey = static_cast<uint8_t>(i);
    set.add(0, std::vector<uint8_t>{grey, 0, 255, grey});
    answers.emplace_back(i < 25 ? 1 : 0, 0.1F * static_cast<float>(i + 1));
  }
  const run::CaseDetails details = details_of(set, kImage, answers);
  EXPECT_TRUE(details.groups.empty());
  ASSERT_EQ(details.pictures.size(), 24U);
  std::vector<int> shown;
  for (const run::PictureCase& picture : details.pictures) {
    shown.push_back(picture.grey.front());
    EXPECT_EQ(picture.right, picture.grey.front() >= 25);
    EXPECT_EQ(picture.width, 2);
    EXPECT_EQ(picture.height, 2);
    EXPECT_EQ(picture.answer.predicted, picture.right ? "bad" : "good");
  }
  EXPECT_EQ(shown, (std::vector<int>{24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13,  //
                                     25, 27, 29, 31, 33, 35, 38, 40, 42, 44, 46, 49}));
  EXPECT_EQ(details.pictures[0].grey, (std::vector<uint8_t>{24, 0, 255, 24}));
}

TEST(LraExaminer, APictureThatWasCutEndsInBlack) {
  data::TokenSet set = two_classes();
  set.add(0, std::vector<uint8_t>{9, 8, 7});
  const auto pictures = details_of(set, kImage, {{0, 1.0F}}).pictures;
  ASSERT_EQ(pictures.size(), 1U);
  EXPECT_EQ(pictures[0].grey, (std::vector<uint8_t>{9, 8, 7, 0}));
}

TEST(LraExaminer, LargePicturesAreFewAndTheFileStaysSmall) {
  const LraSource large = image_source(128);
  data::TokenSet set = two_classes();
  std::vector<std::pair<int64_t, float>> answers;
  for (int i = 0; i < 20; ++i) {
    set.add(0, std::vector<uint8_t>(128 * 128, 100));
    answers.emplace_back(i % 2, 1.0F);
  }
  const run::Evaluation evaluation = examined(set, large, answers);
  EXPECT_EQ(evaluation.details["pictures"].size(), 4U);
  EXPECT_LT(evaluation.details.dump().size(), 100000U);
}

TEST(BeginningOf, ShortTextsAreWhole) {
  EXPECT_EQ(beginning_of(bytes_of("good"), 4), "good");
  EXPECT_EQ(beginning_of({}, 4), "");
}

TEST(BeginningOf, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(beginning_of(bytes_of("goodness"), 4), "good…");
  EXPECT_EQ(beginning_of(bytes_of("aä€x"), 2), "a…");  // ä has 2 bytes, € has 3
  EXPECT_EQ(beginning_of(bytes_of("aä€x"), 3), "aä…");
  EXPECT_EQ(beginning_of(bytes_of("aä€x"), 5), "aä…");
  EXPECT_EQ(beginning_of(bytes_of("aä€x"), 6), "aä€…");
}

TEST(BeginningOf, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(beginning_of(bytes_of("a\xff z"), 10), "a\uFFFD z");
  EXPECT_EQ(beginning_of(bytes_of("a\xc3"), 10), "a\uFFFD");
  const std::string nonsense(20, '\x80');
  EXPECT_EQ(beginning_of(bytes_of(nonsense), 2), "\uFFFD\uFFFD…");
}

}  // namespace
}  // namespace primal::tasks
