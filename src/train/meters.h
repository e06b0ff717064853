// Collect what a model answered, batch by batch, into an Evaluation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "run/classification.h"

namespace primal::train {

/// Sums of what every evaluation has.
struct LossSums {
  double loss = 0;                ///< over the examples
  std::vector<double> objective;  ///< of each primal layer
};

/// Score: accuracy; also macro_f1; details: names of the classes and confusion.
class ClassificationMeter {
 public:
  explicit ClassificationMeter(std::vector<std::string> classes);
  void add(std::span<const int64_t> truth, std::span<const int64_t> predicted, const LossSums& batch);
  run::Evaluation result() const;

 private:
  run::ClassDetails details_;
  LossSums sums_;
};

/// Score: R2; also rmse, mae, median_error; details: pairs. Truth and prediction are in the unit of the target.
class RegressionMeter {
 public:
  void add(std::span<const double> truth, std::span<const double> predicted, const LossSums& batch);
  run::Evaluation result() const;

 private:
  std::vector<std::pair<double, double>> pairs_;
  LossSums sums_;
};

}  // namespace primal::train
