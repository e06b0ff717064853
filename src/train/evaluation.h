// The result of an evaluation, as a plain struct and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

namespace primal::train {

using Confusion = std::vector<std::vector<int64_t>>;  ///< [true class][predicted class]: number of examples

struct Evaluation {
  double loss = 0;                ///< task loss, mean over the examples
  double accuracy = 0;            ///< 0 .. 1
  std::vector<double> objective;  ///< mean J of each primal layer
  Confusion confusion;
};

/// Collects batches of a classification into an Evaluation.
class ClassificationMeter {
 public:
  explicit ClassificationMeter(int64_t classes);
  void add(std::span<const int64_t> truth, std::span<const int64_t> predicted, double loss_sum,
           std::span<const double> objective_sums);
  Evaluation result() const;

 private:
  Confusion confusion_;
  double loss_sum_ = 0;
  std::vector<double> objective_sums_;
};

/// Share of the diagonal.
double accuracy_of(const Confusion& confusion);
/// Mean over the classes that occur, as truth or prediction, of 2 PR / (P + R).
double macro_f1_of(const Confusion& confusion);

void to_json(nlohmann::json& json, const Evaluation& evaluation);
void from_json(const nlohmann::json& json, Evaluation& evaluation);

}  // namespace primal::train
