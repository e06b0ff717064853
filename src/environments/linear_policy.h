// What a robot does as a linear function of what it sees: small, and enough to walk (Mania, Guy, Recht 2018).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "base/json_fields.h"
#include "base/random.h"

namespace primal::environments {

/// action = weights (observation - mean) / deviation + noise z, clipped to [-1, 1]; z of the normal distribution.
struct LinearPolicy {
  int64_t states = 0, actions = 0;
  std::vector<double> weights{};            ///< [actions, states]
  std::vector<double> mean{}, deviation{};  ///< [states], of the observations that it was trained with
  /// Deviation of what is added to every action. Policies trained without it fall at the first small error.
  double noise = 0;

  /// Of weights 0, that takes observations as they are.
  static LinearPolicy at_rest(int64_t states, int64_t actions, double noise);
  /// With noise 0 it draws no numbers.
  void act(std::span<const double> observation, base::Random& random, std::span<double> action) const;
  LinearPolicy without_noise() const;
  /// With every number rounded to 9 digits, as small files keep it.
  LinearPolicy rounded() const;

  bool operator==(const LinearPolicy&) const = default;
};

/// A number that hardly ever changes says nothing, and dividing by its deviation would make it loud: it counts as 0.
constexpr double kLeastDeviation = 1e-7;

nlohmann::json to_json(const LinearPolicy& policy);
/// Throws Error that names the field if one is missing, or does not fit the sizes given.
LinearPolicy policy_of(const base::Fields& fields, int64_t states, int64_t actions);

}  // namespace primal::environments
