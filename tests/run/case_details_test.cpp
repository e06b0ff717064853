#include "run/case_details.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace primal::run {
namespace {

using tests::error_of;

Evaluation through_json(const Evaluation& before) {
  return evaluation_from(nlohmann::json::parse(to_json(before, accuracy_metric()).dump()), accuracy_metric(), "e");
}

std::string error_for(const char* key, const nlohmann::json& value) {
  return error_of([&] { case_details({.details = {{key, value}}}, "f"); });
}

TEST(CaseDetails, GoThroughJsonUnchanged) {
  Evaluation evaluation{.score = 0.5};
  put(evaluation, {.reference_lines = {{"chance", 0.1}},
                   .groups = {{"length", {{"1 to 5", 4, 3}, {"6 to 10", 2, 0}}}},
                   .pictures = {{{"cat", "dog", 0.75}, false, 2, 1, {0, 255}}, {{"cat", "cat", 0.5}, true, 1, 1, {7}}},
                   .texts = {{{"good", "bad", 0.875}, {"a text", "and a second"}}}});
  const CaseDetails after = case_details(through_json(evaluation));
  EXPECT_EQ(after.reference_lines.at(0).name, "chance");
  EXPECT_EQ(after.reference_lines[0].score, 0.1);
  EXPECT_EQ(after.groups.at(0).rows.at(1).name, "6 to 10");
  EXPECT_EQ(after.groups[0].rows[0].cases, 4);
  EXPECT_EQ(after.groups[0].rows[0].right, 3);
  EXPECT_EQ(after.pictures.at(0).answer.predicted, "dog");
  EXPECT_EQ(after.pictures[0].grey, (std::vector<uint8_t>{0, 255}));
  EXPECT_FALSE(after.pictures[0].right);
  EXPECT_TRUE(after.pictures.at(1).right);
  EXPECT_EQ(after.texts.at(0).answer.share, 0.875);
  EXPECT_EQ(after.texts[0].texts, (std::vector<std::string>{"a text", "and a second"}));
}

TEST(CaseDetails, AnEvaluationWithoutThemStaysAsItIs) {
  Evaluation evaluation{.score = 0.5};
  put(evaluation, CaseDetails{});
  EXPECT_TRUE(evaluation.details.empty());
  EXPECT_TRUE(case_details(evaluation).groups.empty());
}

TEST(CaseDetails, SharesAreWrittenWithFourDecimals) {
  Evaluation evaluation;
  put(evaluation, {.texts = {{{"a", "b", 0.9f}, {}}}});
  EXPECT_EQ(evaluation.details["texts"][0]["share"].dump(), "0.9");
}

TEST(CaseDetails, WhatDoesNotFitIsNamed) {
  EXPECT_EQ(error_for("groups", 5), "f: field \"groups\": expected an array, got 5");
  EXPECT_EQ(error_for("groups", {{{"name", "n"}, {"rows", {{{"name", "r"}, {"cases", 1}, {"right", 2}}}}}}),
            "f: groups[0]: rows[0]: field \"right\": expected at most 1, the cases, got 2");
  EXPECT_EQ(error_for("texts", {{{"truth", "a"}, {"predicted", "b"}, {"share", 1.0}, {"texts", {1}}}}),
            "f: texts[0]: field \"texts\": expected strings, got 1");
  const auto picture = [](int64_t width, const char* grey) -> nlohmann::json {
    return {{{"truth", "a"}, {"predicted", "b"}, {"share", nullptr}, {"width", width}, {"height", 1}, {"grey", grey}}};
  };
  EXPECT_EQ(error_for("pictures", picture(2, "AA==")), "f: pictures[0]: field \"grey\": expected 2 x 1 bytes, got 1");
  EXPECT_EQ(error_for("pictures", picture(2, "<b>")), "f: pictures[0]: field \"grey\": expected bytes in base64");
  EXPECT_EQ(error_for("pictures", picture(0, "")),
            "f: pictures[0]: field \"width\": expected 1 to 1048576 pixels, got 0");
  EXPECT_NO_THROW(case_details({.details = {{"pictures", picture(1, "AA==")}}})) << "a share that is not a number";
}

}  // namespace
}  // namespace primal::run
