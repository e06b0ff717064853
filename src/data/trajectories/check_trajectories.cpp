#include "data/trajectories/check_trajectories.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace primal::data {

namespace {

void check_values(const std::vector<float>& values, int64_t rows, int64_t columns, const char* what,
                  const std::string& name) {
  if (std::ssize(values) != rows * columns) {
    base::fail(name, what, ": expected ", rows, " rows of ", columns, ", got ", values.size(), " values");
  }
  const auto wrong = std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); });
  if (wrong != values.end()) {
    base::fail(name, what, ", row ", (wrong - values.begin()) / columns, ": expected a finite number, got ", *wrong);
  }
}

}  // namespace

void check_trajectories(const Trajectories& trajectories, const std::vector<float>& next_states,
                        const std::string& name) {
  const int64_t rows = trajectories.rows();
  if (rows == 0) base::fail(name, "expected a step at least, got none");
  if (trajectories.state_size < 1 || trajectories.action_size < 1) {
    base::fail(name, "expected states and actions of a number at least, got ", trajectories.state_size, " and ",
               trajectories.action_size);
  }
  check_values(trajectories.states, rows, trajectories.state_size, "states", name);
  check_values(trajectories.actions, rows, trajectories.action_size, "actions", name);
  check_values(trajectories.rewards, rows, 1, "rewards", name);
  if (!next_states.empty()) check_values(next_states, rows, trajectories.state_size, "next states", name);
  int64_t end = 0;
  for (const Episode& episode : trajectories.episodes) {
    if (episode.begin != end || episode.end <= episode.begin || episode.end > rows) {
      base::fail(name, "episode ", &episode - trajectories.episodes.data(), ": expected rows from ", end, " on, got ",
                 episode.begin, " to ", episode.end, " of ", rows);
    }
    end = episode.end;
  }
  if (end != rows) base::fail(name, "expected episodes up to row ", rows, ", got them up to row ", end);
}

}  // namespace primal::data
