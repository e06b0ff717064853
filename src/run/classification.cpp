#include "run/classification.h"

#include <algorithm>
#include <numeric>

#include "base/json_fields.h"

namespace primal::run {

namespace {

constexpr double kMostCases = 1e15;  // keeps sums of counts far from overflow, and exact in a double

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

int64_t row_sum(const Confusion& confusion, size_t i) {
  return std::accumulate(confusion[i].begin(), confusion[i].end(), int64_t{0});
}

int64_t column_sum(const Confusion& confusion, size_t j) {
  return std::accumulate(confusion.begin(), confusion.end(), int64_t{0},
                         [j](int64_t sum, const auto& row) { return sum + row[j]; });
}

void check(const base::Fields& fields, const ClassDetails& details) {
  const size_t classes = details.classes.size();
  const auto wrong = [&](size_t size) {
    fields.fail("confusion", "expected " + std::to_string(classes) + " x " + std::to_string(classes) +
                                 " numbers, as there are classes, got a side of " + std::to_string(size));
  };
  if (details.confusion.size() != classes) wrong(details.confusion.size());
  double cases = 0;
  for (const auto& row : details.confusion) {
    if (row.size() != classes) wrong(row.size());
    for (const int64_t count : row) cases += static_cast<double>(count);
  }
  if (cases > kMostCases) fields.fail("confusion", "more than 1e15 cases");
}

}  // namespace

double accuracy_of(const Confusion& confusion) {
  int64_t correct = 0, total = 0;
  for (size_t i = 0; i < confusion.size(); ++i) {
    correct += confusion[i][i];
    total += row_sum(confusion, i);
  }
  return ratio(correct, total);
}

double macro_f1_of(const Confusion& confusion) {
  double sum = 0;
  int64_t classes = 0;
  for (size_t i = 0; i < confusion.size(); ++i) {
    const int64_t either = row_sum(confusion, i) + column_sum(confusion, i);
    if (either == 0) continue;
    sum += ratio(2 * confusion[i][i], either);
    ++classes;
  }
  return classes == 0 ? 0 : sum / static_cast<double>(classes);
}

std::vector<ClassScores> class_scores(const Confusion& confusion) {
  std::vector<ClassScores> scores;
  for (size_t i = 0; i < confusion.size(); ++i) {
    const int64_t hits = confusion[i][i], cases = row_sum(confusion, i), predicted = column_sum(confusion, i);
    scores.push_back({.cases = cases,
                      .precision = ratio(hits, predicted),
                      .recall = ratio(hits, cases),
                      .f1 = ratio(2 * hits, predicted + cases)});
  }
  return scores;
}

void put(Evaluation& evaluation, const ClassDetails& details) {
  evaluation.details["classes"] = details.classes;
  evaluation.details["confusion"] = details.confusion;
}

std::optional<ClassDetails> class_details(const Evaluation& evaluation, const std::string& where) {
  // The evaluation in a checkpoint of an older run has no names.
  if (!evaluation.details.contains("classes")) return std::nullopt;
  const base::Fields fields(evaluation.details, where);
  ClassDetails details{fields.texts("classes"), fields.whole_rows("confusion")};
  check(fields, details);
  return details;
}

}  // namespace primal::run
