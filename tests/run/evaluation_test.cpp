#include "run/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "run/classification.h"
#include "run/target_errors.h"
#include "support/errors.h"

namespace primal::run {
namespace {

using tests::error_of;

const Metric kPerplexity{.key = "perplexity", .name = "perplexity", .lower_is_better = true};

Evaluation through_json(const Evaluation& before, const Metric& metric) {
  return evaluation_from(nlohmann::json::parse(to_json(before, metric).dump()), metric, "e");
}

TEST(Metric, IsWrittenAsPeopleReadIt) {
  EXPECT_EQ(format_score(accuracy_metric(), 0.9631), "96.3 %");
  EXPECT_EQ(format_score(r2_metric(), -0.12345), "-0.123");
  EXPECT_EQ(format_score(r2_metric(), -1.319e34), "-1.32e+34");
  EXPECT_EQ(short_name(accuracy_metric()), "acc");
  EXPECT_EQ(short_name(kPerplexity), "perplexity");
  EXPECT_EQ(validation_key(kPerplexity), "validation_perplexity");
}

TEST(Metric, GoesThroughJsonUnchanged) {
  for (const Metric& metric : {accuracy_metric(), r2_metric(), kPerplexity}) {
    EXPECT_EQ(metric_from(nlohmann::json(metric), "m"), metric);
  }
  EXPECT_EQ(metric_from("r2", "m"), r2_metric()) << "as older files have it";
  EXPECT_EQ(error_of([] { metric_from("rmse", "m"); }), "m: expected \"accuracy\" or \"r2\", got \"rmse\"");
  EXPECT_EQ(error_of([] { metric_from(3, "m"); }), "m: expected the description of a metric, got number");
}

TEST(Evaluation, IsBetterByTheMetricAndThenByTheLoss) {
  const Evaluation low{.score = 0.5, .loss = 1}, high{.score = 0.6, .loss = 2}, same{.score = 0.6, .loss = 1};
  EXPECT_TRUE(is_better(accuracy_metric(), high, low));
  EXPECT_TRUE(is_better(accuracy_metric(), same, high));
  EXPECT_FALSE(is_better(accuracy_metric(), high, high));
  EXPECT_TRUE(is_better(kPerplexity, low, high));
  const Evaluation rollout{.score = 0.6};
  EXPECT_FALSE(is_better(accuracy_metric(), rollout, high)) << "without a loss it cannot be better by it";
}

TEST(Evaluation, OfClassesGoesThroughJsonUnchanged) {
  Evaluation before{.score = 1.0 / 3, .loss = 0.1, .also = {{"macro_f1", 0.25}}, .objective = {0.2, -1e-300}};
  put(before, ClassDetails{{"a", "b"}, {{1, 2}, {3, 4}}});
  const Evaluation after = through_json(before, accuracy_metric());
  EXPECT_EQ(after.loss, before.loss);
  EXPECT_EQ(after.score, before.score);
  EXPECT_EQ(after.also, before.also);
  EXPECT_EQ(after.objective, before.objective);
  EXPECT_EQ(after.details, before.details);
  EXPECT_EQ(class_details(after)->confusion, (Confusion{{1, 2}, {3, 4}}));
  EXPECT_FALSE(target_errors(after));
}

TEST(Evaluation, OfTargetsGoesThroughJsonUnchanged) {
  Evaluation before{.score = 0.5};
  put(before, errors_of({{1, 1.1}, {4, 1.0 / 3}, {2, 2}}));
  const Evaluation after = through_json(before, r2_metric());
  const TargetErrors errors = target_errors(after).value(), expected = target_errors(before).value();
  EXPECT_EQ(errors.root_mean_square, expected.root_mean_square);
  EXPECT_EQ(errors.mean, expected.mean);
  EXPECT_EQ(errors.median, expected.median);
  EXPECT_EQ(errors.cases, 3);
  EXPECT_EQ(errors.pairs, expected.pairs);
}

TEST(Evaluation, OfARolloutHasNoLossAndNumbersOfItsOwn) {
  Evaluation before{.score = 77.8, .also = {{"return_of_target_6000", 5900.5}}};
  before.details["returns"] = {1.0, 2.5};
  const Evaluation after = through_json(before, {.key = "normalised_return", .name = "return"});
  EXPECT_FALSE(after.loss);
  EXPECT_EQ(after.also, before.also);
  EXPECT_EQ(after.details, before.details);
}

TEST(Evaluation, DetailsThatDoNotFitAreNamed) {
  const nlohmann::json classes = {{"accuracy", 1.0}, {"classes", {"a", "b"}}, {"confusion", {{1, 2}}}};
  EXPECT_EQ(error_of([&] { class_details(evaluation_from(classes, accuracy_metric(), "f"), "f"); }),
            "f: field \"confusion\": expected 2 x 2 numbers, as there are classes, got a side of 1");
  const nlohmann::json targets = {{"r2", 1.0},  {"pairs", {{1.0}}},    {"rmse", 1.0},
                                  {"mae", 1.0}, {"median_error", 1.0}, {"cases", 1}};
  EXPECT_EQ(error_of([&] { target_errors(evaluation_from(targets, r2_metric(), "f"), "f"); }),
            "f: field \"pairs\": expected pairs, got 1 numbers");
  EXPECT_EQ(error_of([&] { evaluation_from(nlohmann::json::object(), r2_metric(), "f"); }),
            "f: field \"r2\": is missing");
}

TEST(Classification, ScoresOfEachClass) {
  const auto scores = class_scores({{3, 1, 0}, {2, 4, 0}, {0, 0, 0}});
  EXPECT_EQ(scores[0].cases, 4);
  EXPECT_DOUBLE_EQ(scores[0].precision, 3.0 / 5);
  EXPECT_DOUBLE_EQ(scores[0].recall, 3.0 / 4);
  EXPECT_DOUBLE_EQ(scores[0].f1, 6.0 / 9);
  EXPECT_EQ(scores[2].precision, 0) << "never predicted";
  EXPECT_EQ(scores[2].recall, 0) << "no case";
  EXPECT_EQ(scores[2].f1, 0);
}

TEST(Classification, AClassThatNeverOccursDoesNotCount) {
  EXPECT_DOUBLE_EQ(macro_f1_of({{3, 0}, {0, 0}}), 1.0);
  EXPECT_DOUBLE_EQ(accuracy_of({{0, 0}, {0, 0}}), 0.0);
}

}  // namespace
}  // namespace primal::run
