// The KSVD term of a loss, the same for every family.
#pragma once

#include <string>
#include <vector>

#include "base/settings.h"
#include "primal/ksvd.h"
#include "train/problem.h"

namespace primal::tasks {

struct KsvdOptions {
  double eta = 0;  ///< its weight; 0 = none
  KsvdReduction reduction = KsvdReduction::per_sample;
};

/// Makes them known as loss.eta and loss.ksvd_reduction.
void add_settings(base::Settings& settings, KsvdOptions& options);
/// For Config::too_large().
std::vector<std::string> too_large(const KsvdOptions& options);

/// Mean J of each primal layer.
std::vector<double> mean_objectives(const std::vector<KsvdTerms>& terms);

/// Adds eta times the KSVD loss of the layers to `loss`, and what is shown of it.
void add_ksvd(train::BatchLoss& loss, const std::vector<KsvdTerms>& terms, const KsvdOptions& options);

}  // namespace primal::tasks
