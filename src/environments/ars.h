// Augmented Random Search, V2-t (Mania, Guy, Recht 2018): trains linear policies by trying them out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "base/json_fields.h"
#include "environments/linear_policy.h"
#include "environments/robots.h"
#include "environments/rollout.h"

namespace primal::environments {

struct ArsOptions {
  int64_t directions = 8;     ///< N, tried forward and backward in every iteration
  int64_t best = 4;           ///< b of them make the step
  double step_size = 0.02;    ///< alpha
  double distance = 0.03;     ///< nu, that is gone along a direction to try it
  double action_noise = 0;    ///< deviation of what is added to every action, in trials and evaluations
  double survival_bonus = 0;  ///< taken off every reward of a trial: staying upright earns nothing
  /// The bonus taken off is the mean length of the last iteration's trials / 1000 instead: none while the robot falls,
  /// all of it when it stays up. Ours, not in the paper: with the whole bonus off, Walker2d learns to fall at once.
  bool adaptive_bonus = false;
};

/// What was measured to work best on two cores.
ArsOptions ars_options(Robot robot);
nlohmann::json to_json(const ArsOptions& options);

/// A direction of a search, and what going along it brought.
struct Trial {
  std::vector<double> direction;
  double forward = 0, backward = 0;
};

/// weights += alpha / (b sigma) sum (forward - backward) direction over the b trials with the largest
/// max(forward, backward); sigma: deviation (n) of their 2 b returns. Weights stay where all returns are the same.
void ars_step(std::vector<double>& weights, std::vector<Trial> trials, int64_t best, double step_size);

struct ArsState {
  int64_t iteration = 0;
  int64_t steps = 0, episodes = 0;  ///< of all trials
  double last_length = 0;           ///< mean of the last iteration's trials
  std::vector<double> weights;
  Moments seen{0};  ///< of all states of all trials

  bool operator==(const ArsState&) const = default;
};

nlohmann::json to_json(const ArsState& state);
ArsState ars_state_of(const base::Fields& fields, int64_t states, int64_t actions);

/// One search. An iteration is a function of state and seed, whatever the number of threads.
class Ars {
 public:
  Ars(const ArsOptions& options, uint64_t seed, int64_t states, int64_t actions, Player player);

  /// The trials are returned, two per direction: forward, backward.
  std::vector<Rollout> iterate(int64_t threads);
  /// As it stands, undisturbed.
  LinearPolicy policy() const;
  /// Mean return of the policy over some episodes of this iteration's own, with action noise, without bonus taken off.
  double evaluated(int64_t episodes, int64_t threads) const;

  const ArsState& state() const { return state_; }
  void go_on_from(ArsState state) { state_ = std::move(state); }

 private:
  double bonus_taken_off() const;

  ArsOptions options_;
  uint64_t seed_;
  int64_t states_, actions_;
  Player player_;
  ArsState state_;
};

}  // namespace primal::environments
