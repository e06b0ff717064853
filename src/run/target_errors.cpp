#include "run/target_errors.h"

#include <algorithm>
#include <cmath>

#include "base/json_fields.h"

namespace primal::run {

namespace {

constexpr size_t kMostPairs = 1000;  // enough for a picture

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

double r2_of(const std::vector<std::pair<double, double>>& pairs) {
  const bool same = std::ranges::all_of(pairs, [&](const auto& pair) { return pair.first == pairs[0].first; });
  if (same) return std::ranges::all_of(pairs, [](const auto& pair) { return pair.first == pair.second; }) ? 1 : 0;
  double mean = 0, spread = 0, error = 0;
  for (const auto& [truth, predicted] : pairs) mean += truth / static_cast<double>(pairs.size());
  for (const auto& [truth, predicted] : pairs) {
    spread += (truth - mean) * (truth - mean);
    error += (truth - predicted) * (truth - predicted);
  }
  return 1 - error / spread;
}

TargetErrors errors_of(std::vector<std::pair<double, double>> pairs) {
  TargetErrors result{.cases = std::ssize(pairs)};
  const double count = static_cast<double>(std::max<size_t>(pairs.size(), 1));
  std::vector<double> sizes;
  for (const auto& [truth, predicted] : pairs) {
    sizes.push_back(std::abs(predicted - truth));
    result.mean += sizes.back() / count;
    result.root_mean_square += sizes.back() * sizes.back() / count;
  }
  result.root_mean_square = std::sqrt(result.root_mean_square);
  result.median = median_of(std::move(sizes));
  std::sort(pairs.begin(), pairs.end());
  const size_t shown = std::min(pairs.size(), kMostPairs);
  for (size_t i = 0; i < shown; ++i) {
    result.pairs.push_back(pairs[i * (pairs.size() - 1) / std::max<size_t>(shown - 1, 1)]);
  }
  return result;
}

void put(Evaluation& evaluation, const TargetErrors& errors) {
  evaluation.also["rmse"] = errors.root_mean_square;
  evaluation.also["mae"] = errors.mean;
  evaluation.also["median_error"] = errors.median;
  evaluation.details["cases"] = errors.cases;
  evaluation.details["pairs"] = errors.pairs;
}

std::optional<TargetErrors> target_errors(const Evaluation& evaluation, const std::string& where) {
  if (!evaluation.details.contains("pairs")) return std::nullopt;
  const base::Fields fields(evaluation.details, where);
  const auto number = [&](const char* key) {
    const auto found = evaluation.also.find(key);
    if (found == evaluation.also.end()) fields.fail(key, "is missing");
    return found->second;
  };
  TargetErrors errors{.root_mean_square = number("rmse"),
                      .mean = number("mae"),
                      .median = number("median_error"),
                      .cases = fields.whole("cases")};
  for (const std::vector<double>& pair : fields.number_rows("pairs")) {
    if (pair.size() != 2) fields.fail("pairs", "expected pairs, got " + std::to_string(pair.size()) + " numbers");
    if (!std::isfinite(pair[0]) || !std::isfinite(pair[1])) fields.fail("pairs", "expected numbers, got null");
    errors.pairs.emplace_back(pair[0], pair[1]);
  }
  return errors;
}

}  // namespace primal::run
