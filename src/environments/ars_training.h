// Several searches by ARS, of which the best goes on; interrupted, it goes on where it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "environments/ars.h"

namespace primal::environments {

/// How long, and how often the policy is looked at. Searches differ much by their seed, so some are begun.
struct ArsPlan {
  ArsOptions options{};
  int64_t runs = 4;
  int64_t first_steps = 0;  ///< of every run
  int64_t steps = 0;        ///< of the best one, those first ones included
  int64_t every = 5;        ///< iterations from a snapshot to the next
  int64_t episodes = 8;     ///< of the evaluation of a snapshot

  /// Steps in all, of the trials.
  int64_t all_steps() const { return runs * first_steps + steps - first_steps; }
};

ArsPlan ars_plan(Robot robot);

/// Long work: how it is done and whom it tells. Nothing that comes out depends on it.
struct Work {
  int64_t threads = 1;
  std::function<void(int64_t done, int64_t of)> progress = nullptr;
  std::function<bool()> stop = nullptr;

  /// False if it shall stop.
  bool goes_on(int64_t done, int64_t of) const;
};

/// The policy of a run at some iteration. Its return over few episodes, by which the best is looked for, flatters it.
struct Snapshot {
  int64_t run = 0, iteration = 0, steps = 0;
  double evaluated = 0;
  LinearPolicy policy{};

  bool operator==(const Snapshot&) const = default;
};

/// The number that run number `run` of a training draws everything from.
uint64_t seed_of_run(uint64_t seed, int64_t run);

class ArsTraining {
 public:
  ArsTraining(ArsPlan plan, uint64_t seed, int64_t states, int64_t actions, Player player);

  /// Goes on from `state_file` if that is of this training, and writes it now and then, complete or not at all. False
  /// if it was stopped: then the file has all that was done. The caller removes it.
  bool run(const std::filesystem::path& state_file, const Work& work);

  const std::vector<Snapshot>& snapshots() const { return snapshots_; }
  const ArsPlan& plan() const { return plan_; }

 private:
  bool advance(int64_t run, int64_t steps, const std::filesystem::path& state_file, const Work& work);
  int64_t best_run() const;
  int64_t done_steps() const;
  nlohmann::json identity() const;
  void save(const std::filesystem::path& state_file) const;
  void restore_if_any(const std::filesystem::path& state_file);

  ArsPlan plan_;
  uint64_t seed_;
  int64_t states_, actions_;
  std::vector<Ars> runs_;
  std::vector<Snapshot> snapshots_;
};

}  // namespace primal::environments
