#include "data/trajectories/trajectories.h"

#include <numeric>

namespace primal::data {

double Trajectories::episode_return(const Episode& episode) const {
  return std::accumulate(rewards.begin() + episode.begin, rewards.begin() + episode.end, 0.0);
}

}  // namespace primal::data
