#include "analysis/matrix_curves.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/ksvd_layer.h"
#include "analysis/spectrum_stats.h"
#include "primal/error.h"

namespace primal::analysis {

namespace {

// Sums of shares round: 0.9 of ten equal values is their first nine.
constexpr double kShareRounding = 1e-9;

std::vector<double> energies(std::span<const double> singular_values) {
  const double largest = singular_values.empty() ? 0 : singular_values.front();
  std::vector<double> squares;
  for (const double value : singular_values) {  // scaled: a square must not leave the range of a double
    if (!std::isfinite(value) || value < 0) throw Error("a singular value is " + std::to_string(value));
    squares.push_back(largest > 0 ? value / largest * (value / largest) : 0);
  }
  return squares;
}

double value_at(const SingularValues& values, size_t i) { return i < values.size() ? values[i] : 0; }

}  // namespace

double energy_rank(std::span<const double> singular_values) { return effective_rank(energies(singular_values)); }

std::vector<double> explained_energy(std::span<const double> singular_values, size_t count) {
  const std::vector<double> squares = energies(singular_values);
  double sum = 0, so_far = 0;
  for (const double square : squares) sum += square;
  std::vector<double> explained(count, 1);
  for (size_t i = 0; i < std::min(count, squares.size()) && sum > 0; ++i) {
    so_far += squares[i];
    explained[i] = std::min(so_far / sum, 1.0);
  }
  return explained;
}

int64_t rank_for(std::span<const double> explained, double share) {
  const auto found = std::ranges::find_if(explained, [&](double value) { return value >= share - kShareRounding; });
  return std::min<int64_t>(found - explained.begin() + 1, std::ssize(explained));
}

std::vector<int64_t> shown_places(int64_t count) {
  constexpr int64_t kAll = 32;
  constexpr double kStep = 1.06;
  std::vector<int64_t> places;
  for (int64_t i = 1; i <= count; i = i < kAll ? i + 1 : std::llround(std::ceil(static_cast<double>(i) * kStep))) {
    places.push_back(i);
  }
  if (!places.empty() && places.back() != count) places.push_back(count);
  return places;
}

run::MatrixCurves matrix_curves(const std::vector<SingularValues>& matrices, const std::vector<int64_t>& places,
                                bool with_deviations) {
  const auto count = static_cast<size_t>(places.back());
  std::vector<std::vector<double>> explained;
  Spread effective;
  for (const SingularValues& values : matrices) {
    explained.push_back(explained_energy(values, count));
    effective.add(energy_rank(values));
  }
  const auto spread_at = [&](const auto& of) {
    Spread spread;
    for (size_t m = 0; m < matrices.size(); ++m) spread.add(of(m));
    return spread;
  };
  run::MatrixCurves curves{.effective_rank = effective.mean()};
  if (with_deviations) curves.effective_rank_deviation = effective.deviation();
  std::vector<double> mean;
  for (size_t i = 0; i < count; ++i) mean.push_back(spread_at([&](size_t m) { return explained[m][i]; }).mean());
  for (size_t r = 0; r < curves.ranks.size(); ++r) curves.ranks[r] = rank_for(mean, run::kEnergyShares[r]);
  for (const int64_t place : places) {
    const auto i = static_cast<size_t>(place - 1);
    const Spread value = spread_at([&](size_t m) { return value_at(matrices[m], i); });
    const Spread share = spread_at([&](size_t m) { return explained[m][i]; });
    curves.values.push_back(value.mean());
    curves.explained.push_back(share.mean());
    if (!with_deviations || matrices.size() < 2) continue;
    curves.deviations.push_back(value.deviation());
    curves.explained_deviations.push_back(share.deviation());
  }
  return curves;
}

}  // namespace primal::analysis
