// What the measures of a layer come to, in plain words, and the thresholds behind them. No LibTorch.
#pragma once

#include <string>
#include <string_view>

#include "analysis/ksvd_layer.h"

namespace primal::analysis {

/// A residual of the conditions up to this share of the weights: of their energy less than 1 % is elsewhere.
inline constexpr double kSolvedResidual = 0.1;
/// The scores keep at least this share of what the best s pairs keep: what is lost is less than noise of training.
inline constexpr double kSolvedEnergy = 0.95;
/// A mean this many deviations of random weights below theirs is not one of them.
inline constexpr double kBeyondRandom = 3;
/// J counts as zero below this share of its parts: random weights are brought there by one number, the size of Lambda.
inline constexpr double kZeroBalance = 0.1;
/// Parts of J that are all smaller have vanished; they begin near 1/6 (data-dependent weights) or 1/(6 d).
inline constexpr double kVanishedPart = 1e-4;

enum class KsvdGrade {
  holds,        ///< the conditions are met, with the best s pairs
  other_pairs,  ///< the conditions are met, but with pairs that are not the best
  unscaled,     ///< the directions are right, Lambda is not
  closer,       ///< not met, but closer than random weights come
  chance,       ///< no closer than random weights
};

struct KsvdVerdict {
  KsvdGrade grade = KsvdGrade::chance;
  std::string text;  ///< "layer 1 is not a kernel SVD: residual 0.98, random weights 1.01; ..."
};

/// `untrained`: the same layer at its initialisation; may be null.
KsvdVerdict ksvd_verdict(const KsvdLayer& layer, const KsvdLayer* untrained = nullptr);

/// "holds", "other_pairs", ...: for JSON.
std::string_view grade_name(KsvdGrade grade);

}  // namespace primal::analysis
