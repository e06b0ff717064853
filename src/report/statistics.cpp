#include "report/statistics.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace primal::report {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

double deviation(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double middle = mean(values);
  double squares = 0;
  for (double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::pair<double, double> wilson_interval(double share, double cases) {
  constexpr double z = 1.959964;  // of the normal distribution, 2.5 % in each tail
  const double scale = 1 + z * z / cases;
  const double middle = (share + z * z / (2 * cases)) / scale;
  const double half = z / scale * std::sqrt(share * (1 - share) / cases + z * z / (4 * cases * cases));
  return {middle - half, middle + half};
}

std::vector<ClassScores> class_scores(const std::vector<std::vector<std::int64_t>>& confusion) {
  std::vector<ClassScores> scores(confusion.size());
  for (std::size_t i = 0; i < confusion.size(); ++i) {
    const std::int64_t hits = confusion[i][i];
    std::int64_t predicted = 0;
    for (const auto& row : confusion) predicted += row[i];
    ClassScores& score = scores[i];
    score.cases = std::reduce(confusion[i].begin(), confusion[i].end());
    score.precision = ratio(hits, predicted);
    score.recall = ratio(hits, score.cases);
    score.f1 = ratio(2 * hits, predicted + score.cases);
  }
  return scores;
}

}  // namespace primal::report
