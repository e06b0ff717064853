// The result of an evaluation, as a plain struct and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primal::train {

/// What a model is judged by; the more the better.
enum class Measure {
  accuracy,  ///< share of right classes
  r2,        ///< 1 - squared error / that of always answering the mean
};

/// "accuracy", "r2": in metrics.jsonl and result.json.
const char* key_of(Measure measure);
/// "validation_accuracy", "validation_r2": in result.json.
std::string validation_key_of(Measure measure);
std::optional<Measure> measure_of_key(std::string_view key);
/// "accuracy", "R2": for people.
const char* name_of(Measure measure);
/// "96.3 %", "0.873", "-1.32e+34".
std::string format_score(Measure measure, double score);

using Confusion = std::vector<std::vector<int64_t>>;  ///< [true class][predicted class]: number of examples

/// How far predicted targets are from the true ones, in their unit.
struct TargetErrors {
  double root_mean_square = 0, mean = 0, median = 0;
  int64_t cases = 0;
  /// (true, predicted) in rising order; of many cases some, evenly chosen.
  std::vector<std::pair<double, double>> pairs{};
};

struct Evaluation {
  double loss = 0;  ///< task loss, mean over the examples
  Measure measure = Measure::accuracy;
  double score = 0;                      ///< by `measure`
  std::vector<double> objective;         ///< mean J of each primal layer
  Confusion confusion{};                 ///< of a classification
  std::optional<TargetErrors> errors{};  ///< of a regression
};

/// Sums of what every evaluation has.
struct LossSums {
  double loss = 0;                ///< over the examples
  std::vector<double> objective;  ///< of each primal layer
};

/// Collects batches of a classification into an Evaluation.
class ClassificationMeter {
 public:
  explicit ClassificationMeter(int64_t classes);
  void add(std::span<const int64_t> truth, std::span<const int64_t> predicted, const LossSums& batch);
  Evaluation result() const;

 private:
  Confusion confusion_;
  LossSums sums_;
};

/// The same for a regression. Truth and prediction are in the unit of the target.
class RegressionMeter {
 public:
  void add(std::span<const double> truth, std::span<const double> predicted, const LossSums& batch);
  Evaluation result() const;

 private:
  std::vector<std::pair<double, double>> pairs_;
  LossSums sums_;
};

/// Share of the diagonal.
double accuracy_of(const Confusion& confusion);
/// Mean over the classes that occur, as truth or prediction, of 2 PR / (P + R).
double macro_f1_of(const Confusion& confusion);

void to_json(nlohmann::json& json, const Evaluation& evaluation);
void from_json(const nlohmann::json& json, Evaluation& evaluation);

}  // namespace primal::train
