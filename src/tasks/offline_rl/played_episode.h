// An episode that an agent has played.
#pragma once

#include <cstdint>
#include <vector>

namespace primal::tasks {

struct PlayedEpisode {
  double target = 0;  ///< NaN: none
  double earned = 0;  ///< the return
  int64_t steps = 0;
  bool fell = false;
  std::vector<double> positions{};  ///< [steps + 1, joints]
};

}  // namespace primal::tasks
