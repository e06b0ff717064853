#include "data/trajectories/d4rl_layout.h"

#include "data/trajectories/check_trajectories.h"
#include "data/trajectories/hdf5_array.h"
#include "data/trajectories/hdf5_output.h"
#include "data/trajectories/made_text.h"

namespace primal::data {

namespace {

constexpr int64_t kTimeLimit = 1000;  // of the robots' episodes, for files that do not say when time was up

/// Rows, and which of them end an episode.
struct D4rlFlags {
  std::vector<uint8_t> terminals, timeouts;  ///< no timeouts: by kTimeLimit

  std::vector<Episode> episodes() const {
    std::vector<Episode> result;
    int64_t begin = 0;
    for (int64_t row = 0; row < std::ssize(terminals); ++row) {
      const auto i = static_cast<std::size_t>(row);
      const bool is_terminal = terminals[i] != 0;
      const bool is_late = timeouts.empty() ? row + 1 - begin == kTimeLimit : timeouts[i] != 0;
      if (!is_terminal && !is_late) continue;
      result.push_back({begin, row + 1, is_terminal});
      begin = row + 1;
    }
    return result;
  }
};

void require_rows_of_observations(const Hdf5File& file, const Hdf5Array& array, const Hdf5Array& observations) {
  if (array.rows() == observations.rows()) return;
  file.fail(array.path(), ": has ", array.rows(), " rows, observations has ", observations.rows());
}

}  // namespace

Trajectories read_d4rl(Hdf5File& file) {
  // All are looked at before any is read: reading takes its time.
  using enum Hdf5Array::Shape;
  const Hdf5Array observations(file, "observations", kMatrix), actions(file, "actions", kMatrix);
  const Hdf5Array rewards(file, "rewards", kColumn), terminals(file, "terminals", kColumn);
  std::optional<Hdf5Array> timeouts;
  if (file.kind_of("timeouts") != Hdf5File::Kind::kNothing) timeouts.emplace(file, "timeouts", kColumn);
  if (observations.rows() == 0) file.fail("observations: has no rows");
  for (const Hdf5Array* array : {&actions, &rewards, &terminals}) {
    require_rows_of_observations(file, *array, observations);
  }
  if (timeouts) require_rows_of_observations(file, *timeouts, observations);

  Trajectories result;
  result.made = made_of_text(file, "metadata/made", file.text_if_any("metadata/made"));
  const D4rlFlags flags{terminals.read_flags(), timeouts ? timeouts->read_flags() : std::vector<uint8_t>{}};
  result.episodes = flags.episodes();
  if (result.episodes.empty()) {
    file.fail("no episode ends in its ", observations.rows(), " rows: terminals",
              timeouts ? " and timeouts are" : " is", " never true");
  }
  const int64_t rows = result.episodes.back().end;
  result.unfinished = observations.rows() - rows;
  result.state_size = observations.columns();
  result.action_size = actions.columns();
  observations.read_floats(result.states, rows);
  actions.read_floats(result.actions, rows);
  rewards.read_floats(result.rewards, rows);
  return result;
}

void write_d4rl(const std::filesystem::path& path, const Trajectories& trajectories,
                const std::vector<float>& next_states) {
  check_trajectories(trajectories, next_states, path.string());
  constexpr auto kPacking = Hdf5Output::Packing::kGzip;
  std::vector<int8_t> terminals(trajectories.rewards.size()), timeouts(terminals.size());
  for (const Episode& episode : trajectories.episodes) {
    (episode.terminated ? terminals : timeouts)[static_cast<std::size_t>(episode.end - 1)] = 1;
  }
  Hdf5Output file(path);
  file.add_floats("observations", trajectories.states, trajectories.state_size, kPacking);
  if (!next_states.empty()) file.add_floats("next_observations", next_states, trajectories.state_size, kPacking);
  file.add_floats("actions", trajectories.actions, trajectories.action_size, kPacking);
  file.add_floats("rewards", trajectories.rewards, 0, kPacking);
  file.add_flags("terminals", terminals, kPacking);
  file.add_flags("timeouts", timeouts, kPacking);
  if (!trajectories.made.is_null()) {
    file.add_group("metadata");
    file.add_text("metadata/made", text_of_made(trajectories.made));
    const auto algorithm = algorithm_of(trajectories.made);
    if (algorithm) file.add_text("metadata/algorithm", *algorithm);
  }
  file.commit();
}

}  // namespace primal::data
