#include "train/evaluation.h"

#include <nlohmann/json.hpp>
#include <numeric>

namespace primal::train {

namespace {

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

ClassificationMeter::ClassificationMeter(int64_t classes)
    : confusion_(static_cast<size_t>(classes), std::vector<int64_t>(static_cast<size_t>(classes))) {}

void ClassificationMeter::add(std::span<const int64_t> truth, std::span<const int64_t> predicted, double loss_sum,
                              std::span<const double> objective_sums) {
  for (size_t i = 0; i < truth.size(); ++i) ++confusion_[truth[i]][predicted[i]];
  loss_sum_ += loss_sum;
  objective_sums_.resize(objective_sums.size());
  for (size_t i = 0; i < objective_sums.size(); ++i) objective_sums_[i] += objective_sums[i];
}

Evaluation ClassificationMeter::result() const {
  const double examples = static_cast<double>(std::max<int64_t>(total_of(confusion_), 1));
  Evaluation evaluation{loss_sum_ / examples, accuracy_of(confusion_), objective_sums_, confusion_};
  for (double& objective : evaluation.objective) objective /= examples;
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
  json = {{"loss", evaluation.loss},
          {"accuracy", evaluation.accuracy},
          {"objective", evaluation.objective},
          {"confusion", evaluation.confusion}};
}

void from_json(const nlohmann::json& json, Evaluation& evaluation) {
  json.at("loss").get_to(evaluation.loss);
  json.at("accuracy").get_to(evaluation.accuracy);
  json.at("objective").get_to(evaluation.objective);
  json.at("confusion").get_to(evaluation.confusion);
}

}  // namespace primal::train
