// The KSVD term of a loss, the same for every family.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "primal/ksvd.h"
#include "train/problem.h"

namespace primal::tasks {

/// What is made small.
enum class KsvdTarget {
  objective,     ///< J^2 (published)
  stationarity,  ///< the residual of the conditions of a stationary point of J: nn/ksvd_conditions.h
};

struct KsvdOptions {
  double eta = 0;  ///< its weight; 0 = none
  KsvdTarget target = KsvdTarget::objective;
  KsvdReduction reduction = KsvdReduction::per_sample;
};

/// Makes them known as loss.eta, loss.ksvd and loss.ksvd_reduction.
void add_settings(base::Settings& settings, KsvdOptions& options);
/// For Config::too_large().
std::vector<std::string> too_large(const KsvdOptions& options);

/// Mean J of each primal layer.
std::vector<double> mean_objectives(const std::vector<KsvdTerms>& terms);

/// Made before the forward pass of a batch, on its thread: with KsvdTarget::stationarity it hears what the attention of
/// each layer sees. Else, or with eta = 0, it does nothing.
class KsvdListener {
 public:
  explicit KsvdListener(const KsvdOptions& options);
  KsvdListener(const KsvdListener&) = delete;
  KsvdListener& operator=(const KsvdListener&) = delete;
  ~KsvdListener();

  /// The mean over the primal layers that were heard, each the mean over its calls; undefined if there were none.
  torch::Tensor residual() const;

 private:
  class Hearing;
  std::unique_ptr<Hearing> hearing_;
};

/// Adds eta times the KSVD loss of the layers to `loss`, and what is shown of it. `heard`: made before their pass.
void add_ksvd(train::BatchLoss& loss, const std::vector<KsvdTerms>& terms, const KsvdOptions& options,
              const KsvdListener& heard);

}  // namespace primal::tasks
