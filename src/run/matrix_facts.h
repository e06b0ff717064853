// Singular values of the matrices by which the layers of a run mix their tokens. Part of analysis.json.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace primal::base {
class Fields;
}

namespace primal::run {

/// Shares of the energy, sum of sigma^2, that ranks are told for.
inline constexpr std::array<double, 3> kEnergyShares{0.9, 0.95, 0.99};
inline constexpr std::size_t kHeadShare = 1;  ///< of them: the one that ranks of single heads are shown for

/// Means over matrices, and their standard deviations (NaN for a single matrix).
struct MatrixCurves {
  std::vector<double> values{};                ///< singular values, falling
  std::vector<double> deviations{};            ///< of them; empty: not kept
  std::vector<double> explained{};             ///< share of the energy in the pairs up to this one, rising to 1
  std::vector<double> explained_deviations{};  ///< empty: not kept
  double effective_rank = 0;                   ///< exp of the entropy of sigma^2 / sum sigma^2
  double effective_rank_deviation = std::numeric_limits<double>::quiet_NaN();
  /// The smallest numbers of pairs whose mean share of the energy is at least kEnergyShares.
  std::array<int64_t, kEnergyShares.size()> ranks{};
};

/// Of one layer: its attention matrices, or of a primal layer the kernel matrices of the conditions of its kernel SVD.
struct MatrixFacts {
  std::string layer{};   ///< "layer 1"
  std::string kind{};    ///< of its attention: "softmax", "primal", ...
  int64_t samples = 0;   ///< each a matrix per head
  int64_t tokens = 0;    ///< of the longest of them
  int64_t features = 0;  ///< of a head; a primal layer has no more pairs
  /// Which singular values the curves have: 1, 2, ... to the last one, later ones sparsely.
  std::vector<int64_t> places{};
  MatrixCurves all{};                 ///< over samples and heads
  std::vector<MatrixCurves> heads{};  ///< over samples
  std::string left_out{};             ///< why there is no spectrum; empty: there is one

  bool is_primal() const { return kind == "primal"; }
};

nlohmann::json to_json(const MatrixFacts& facts);
/// Throws Error that names file and field.
MatrixFacts matrix_facts(const base::Fields& object);

}  // namespace primal::run
