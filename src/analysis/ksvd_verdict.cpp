#include "analysis/ksvd_verdict.h"

#include "base/format.h"

namespace primal::analysis {

namespace {

double mean_of(const MeasuredWeights& weights, Measure measure) { return weights.of(measure).mean(); }

bool is_below_random(const KsvdLayer& layer, Measure measure) {
  const Spread& random = layer.random.of(measure);
  return mean_of(layer.own, measure) < random.mean() - kBeyondRandom * random.deviation();
}

KsvdGrade grade_of(const KsvdLayer& layer) {
  if (mean_of(layer.own, Measure::residual) <= kSolvedResidual) {
    return mean_of(layer.own, Measure::energy) >= kSolvedEnergy ? KsvdGrade::holds : KsvdGrade::other_pairs;
  }
  if (mean_of(layer.own, Measure::direction) <= kSolvedResidual) return KsvdGrade::unscaled;
  return is_below_random(layer, Measure::direction) ? KsvdGrade::closer : KsvdGrade::chance;
}

std::string claim(const KsvdLayer& layer, KsvdGrade grade) {
  switch (grade) {
    case KsvdGrade::holds:
      return " holds a kernel SVD";
    case KsvdGrade::other_pairs:
      return " holds singular directions of its kernel, but not the best " + std::to_string(layer.rank);
    case KsvdGrade::unscaled:
      return " has the directions of a kernel SVD, but Lambda does not hold its singular values";
    case KsvdGrade::closer:
      return " is not a kernel SVD, though closer to one than random weights";
    case KsvdGrade::chance:
      return " is not a kernel SVD, and no closer to one than random weights";
  }
  return "";
}

std::string residuals(const KsvdLayer& layer, const KsvdLayer* untrained) {
  const auto pair = [](const MeasuredWeights& weights) {
    return base::printed("%.3g, with Lambda free %.3g", mean_of(weights, Measure::residual),
                         mean_of(weights, Measure::direction));
  };
  std::string text = ": residual " + pair(layer.own) + " (random weights " + pair(layer.random);
  if (untrained != nullptr) text += "; untrained " + pair(untrained->own);
  return text + ").";
}

std::string energies(const KsvdLayer& layer) {
  const int pairs = static_cast<int>(layer.rank);
  if (layer.rank >= layer.features) {
    return base::printed(" A rank of %d is no less than its %d features: any weights keep all of the energy.", pairs,
                         static_cast<int>(layer.features));
  }
  return base::printed(" Its scores keep %.0f %% of the energy of the best %d pairs, random ones %.0f %%.",
                       100 * mean_of(layer.own, Measure::energy), pairs, 100 * mean_of(layer.random, Measure::energy));
}

bool is_solved(KsvdGrade grade) { return grade == KsvdGrade::holds || grade == KsvdGrade::other_pairs; }

std::string objective(const KsvdLayer& layer, KsvdGrade grade) {
  if (mean_of(layer.own, Measure::largest_part) < kVanishedPart) {
    return " Every part of J has vanished: that is its trivial zero.";
  }
  if (is_solved(grade) || !(mean_of(layer.own, Measure::balance) < kZeroBalance)) return "";
  return base::printed(" J is %.2g of its parts, as near to zero as at a solution, which it does not show.",
                       mean_of(layer.own, Measure::balance));
}

}  // namespace

KsvdVerdict ksvd_verdict(const KsvdLayer& layer, const KsvdLayer* untrained) {
  if (layer.samples == 0) return {KsvdGrade::chance, layer.name + " saw no token"};
  const KsvdGrade grade = grade_of(layer);
  return {grade,
          layer.name + claim(layer, grade) + residuals(layer, untrained) + energies(layer) + objective(layer, grade)};
}

std::string_view grade_name(KsvdGrade grade) {
  switch (grade) {
    case KsvdGrade::holds:
      return "holds";
    case KsvdGrade::other_pairs:
      return "other_pairs";
    case KsvdGrade::unscaled:
      return "unscaled";
    case KsvdGrade::closer:
      return "closer";
    case KsvdGrade::chance:
      return "chance";
  }
  return "";
}

}  // namespace primal::analysis
