// `primal play`: episodes of a trained agent to look at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "run/rollout_details.h"

namespace primal::tasks {

struct PlayRequest {
  std::filesystem::path run;
  std::vector<double> targets{};   ///< returns to ask for; none: as the run was evaluated
  int64_t episodes = 3;            ///< of each target
  uint64_t seed = 1;               ///< other starts for another
  std::vector<std::string> set{};  ///< "eval.context=episode"
  int64_t threads = 0;             ///< 0: as the run
};

struct PlayResult {
  std::string title;  ///< "Primal.+DT of runs/hopper"
  run::RolloutDetails details;
};

/// Throws Error for a run of another family, and where there is no simulator.
PlayResult play(const PlayRequest& request);
/// One HTML file that needs nothing else.
std::string page_of(const PlayResult& result);
/// For people: a line for each target.
std::string to_text(const PlayResult& result);
nlohmann::json to_json(const PlayResult& result);

}  // namespace primal::tasks
