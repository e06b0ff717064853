#include "train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "train/format.h"

namespace primal::train {

namespace {

constexpr size_t kMostPairs = 1000;  // enough for a picture

void add_to(LossSums& sums, const LossSums& batch) {
  sums.loss += batch.loss;
  sums.objective.resize(batch.objective.size());
  for (size_t i = 0; i < batch.objective.size(); ++i) sums.objective[i] += batch.objective[i];
}

Evaluation evaluation_of(LossSums sums, size_t examples, Measure measure, double score) {
  const double count = static_cast<double>(std::max<size_t>(examples, 1));
  for (double& objective : sums.objective) objective /= count;
  return {.loss = sums.loss / count, .measure = measure, .score = score, .objective = std::move(sums.objective)};
}

// Of targets that are all the same there is nothing to explain: 1 for right answers, 0 for others.
double r2_of(std::span<const std::pair<double, double>> pairs) {
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

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
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
  for (size_t i = 0; i < shown; ++i)
    result.pairs.push_back(pairs[i * (pairs.size() - 1) / std::max<size_t>(shown - 1, 1)]);
  return result;
}

int64_t row_sum(const Confusion& confusion, size_t i) {
  return std::accumulate(confusion[i].begin(), confusion[i].end(), int64_t{0});
}

int64_t column_sum(const Confusion& confusion, size_t j) {
  return std::accumulate(confusion.begin(), confusion.end(), int64_t{0},
                         [j](int64_t sum, const auto& row) { return sum + row[j]; });
}

int64_t total_of(const Confusion& confusion) {
  int64_t total = 0;
  for (size_t i = 0; i < confusion.size(); ++i) total += row_sum(confusion, i);
  return total;
}

}  // namespace

const char* key_of(Measure measure) { return measure == Measure::accuracy ? "accuracy" : "r2"; }

std::string validation_key_of(Measure measure) { return std::string("validation_") + key_of(measure); }

std::optional<Measure> measure_of_key(std::string_view key) {
  for (const Measure measure : {Measure::accuracy, Measure::r2}) {
    if (key == key_of(measure)) return measure;
  }
  return std::nullopt;
}

const char* name_of(Measure measure) { return measure == Measure::accuracy ? "accuracy" : "R2"; }

std::string format_score(Measure measure, double score) {
  if (measure == Measure::accuracy) return format_percent(score);
  constexpr double kReadable = 1000;
  return std::abs(score) < kReadable ? format_fixed(score, 3) : format_metric(score);
}

ClassificationMeter::ClassificationMeter(int64_t classes)
    : confusion_(static_cast<size_t>(classes), std::vector<int64_t>(static_cast<size_t>(classes))) {}

void ClassificationMeter::add(std::span<const int64_t> truth, std::span<const int64_t> predicted,
                              const LossSums& batch) {
  for (size_t i = 0; i < truth.size(); ++i) ++confusion_[truth[i]][predicted[i]];
  add_to(sums_, batch);
}

Evaluation ClassificationMeter::result() const {
  const auto examples = static_cast<size_t>(total_of(confusion_));
  Evaluation evaluation = evaluation_of(sums_, examples, Measure::accuracy, accuracy_of(confusion_));
  evaluation.confusion = confusion_;
  return evaluation;
}

void RegressionMeter::add(std::span<const double> truth, std::span<const double> predicted, const LossSums& batch) {
  for (size_t i = 0; i < truth.size(); ++i) pairs_.emplace_back(truth[i], predicted[i]);
  add_to(sums_, batch);
}

Evaluation RegressionMeter::result() const {
  Evaluation evaluation = evaluation_of(sums_, pairs_.size(), Measure::r2, r2_of(pairs_));
  evaluation.errors = errors_of(pairs_);
  return evaluation;
}

double accuracy_of(const Confusion& confusion) {
  int64_t correct = 0;
  for (size_t i = 0; i < confusion.size(); ++i) correct += confusion[i][i];
  return static_cast<double>(correct) / static_cast<double>(std::max<int64_t>(total_of(confusion), 1));
}

double macro_f1_of(const Confusion& confusion) {
  double sum = 0;
  int64_t classes = 0;
  for (size_t i = 0; i < confusion.size(); ++i) {
    const int64_t either = row_sum(confusion, i) + column_sum(confusion, i);
    if (either == 0) continue;
    sum += 2 * static_cast<double>(confusion[i][i]) / static_cast<double>(either);
    ++classes;
  }
  return classes == 0 ? 0 : sum / static_cast<double>(classes);
}

void to_json(nlohmann::json& json, const Evaluation& evaluation) {
  json = {
      {"loss", evaluation.loss}, {key_of(evaluation.measure), evaluation.score}, {"objective", evaluation.objective}};
  if (!evaluation.errors) {
    json["confusion"] = evaluation.confusion;
    return;
  }
  const TargetErrors& errors = *evaluation.errors;
  json["rmse"] = errors.root_mean_square;
  json["mae"] = errors.mean;
  json["median_error"] = errors.median;
  json["cases"] = errors.cases;
  json["pairs"] = errors.pairs;
}

void from_json(const nlohmann::json& json, Evaluation& evaluation) {
  json.at("loss").get_to(evaluation.loss);
  evaluation.measure = json.contains(key_of(Measure::r2)) ? Measure::r2 : Measure::accuracy;
  json.at(key_of(evaluation.measure)).get_to(evaluation.score);
  json.at("objective").get_to(evaluation.objective);
  if (evaluation.measure == Measure::accuracy) {
    json.at("confusion").get_to(evaluation.confusion);
    return;
  }
  TargetErrors errors;
  json.at("rmse").get_to(errors.root_mean_square);
  json.at("mae").get_to(errors.mean);
  json.at("median_error").get_to(errors.median);
  json.at("cases").get_to(errors.cases);
  json.at("pairs").get_to(errors.pairs);
  evaluation.errors = std::move(errors);
}

}  // namespace primal::train
