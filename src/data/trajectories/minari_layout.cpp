#include "data/trajectories/minari_layout.h"

#include <algorithm>
#include <charconv>

#include "data/trajectories/check_trajectories.h"
#include "data/trajectories/hdf5_array.h"
#include "data/trajectories/hdf5_output.h"
#include "data/trajectories/made_text.h"

namespace primal::data {

namespace {

constexpr std::string_view kMinariPrefix = "episode_";
/// Minari counts what is at the top of a file as its episodes, so this is an attribute.
const char* const kMinariMade = "made";

std::vector<std::string> minari_episodes_in_order(const Hdf5File& file) {
  std::vector<std::pair<int64_t, std::string>> numbered;
  for (std::string& name : file.names()) {
    if (const auto number = minari_episode(name)) numbered.emplace_back(*number, std::move(name));
  }
  std::ranges::sort(numbered);  // names have episode_10 before episode_2
  std::vector<std::string> result;
  for (auto& [number, name] : numbered) result.push_back(std::move(name));
  return result;
}

/// Reads one episode after another into the same arrays.
class MinariReader {
 public:
  explicit MinariReader(Hdf5File& file) : file_(file) {}

  void add(const std::string& episode) {
    using enum Hdf5Array::Shape;
    if (file_.kind_of(episode) != Hdf5File::Kind::kGroup) file_.fail(episode, ": expected a group of data sets");
    const Hdf5Array observations(file_, episode + "/observations", kMatrix);
    const Hdf5Array actions(file_, episode + "/actions", kMatrix), rewards(file_, episode + "/rewards", kColumn);
    const Hdf5Array terminations(file_, episode + "/terminations", kColumn);
    const Hdf5Array truncations(file_, episode + "/truncations", kColumn);
    const int64_t steps = rewards.rows();
    if (steps == 0) file_.fail(episode, ": has no steps");
    for (const Hdf5Array* array : {&actions, &terminations, &truncations}) require_rows(*array, steps, steps);
    require_rows(observations, steps + 1, steps);
    if (result_.state_size == 0) {
      first_ = episode;
      result_.state_size = observations.columns();
      result_.action_size = actions.columns();
    }
    require_columns(observations, result_.state_size);
    require_columns(actions, result_.action_size);

    const std::vector<uint8_t> falls = terminations.read_flags(), stops = truncations.read_flags();
    require_one_end(terminations, falls);
    require_one_end(truncations, stops);
    if (falls.back() == 0 && stops.back() == 0) {
      result_.unfinished += steps;
      return;
    }
    const int64_t begin = result_.rows();
    observations.read_floats(result_.states, steps);  // not the last one, which no action follows
    actions.read_floats(result_.actions, steps);
    rewards.read_floats(result_.rewards, steps);
    result_.episodes.push_back({begin, begin + steps, falls.back() != 0});
  }

  Trajectories take() { return std::move(result_); }

 private:
  void require_rows(const Hdf5Array& array, int64_t expected, int64_t steps) const {
    if (array.rows() == expected) return;
    file_.fail(array.path(), ": expected ", expected, " rows for the ", steps, " rewards, got ", array.rows());
  }

  void require_columns(const Hdf5Array& array, int64_t expected) const {
    if (array.columns() == expected) return;
    file_.fail(array.path(), ": expected ", expected, " columns as in ", first_, ", got ", array.columns());
  }

  void require_one_end(const Hdf5Array& array, const std::vector<uint8_t>& flags) const {
    const auto first = std::ranges::find(flags, 1);
    if (flags.end() - first <= 1) return;
    file_.fail(array.path(), ", row ", first - flags.begin(), ": ends the episode, which has ", flags.size(), " steps");
  }

  Hdf5File& file_;
  std::string first_;
  Trajectories result_;
};

}  // namespace

std::optional<int64_t> minari_episode(std::string_view name) {
  if (!name.starts_with(kMinariPrefix)) return std::nullopt;
  name.remove_prefix(kMinariPrefix.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

Trajectories read_minari(Hdf5File& file) {
  MinariReader reader(file);
  const std::vector<std::string> episodes = minari_episodes_in_order(file);
  for (const std::string& episode : episodes) reader.add(episode);
  Trajectories result = reader.take();
  if (result.episodes.empty()) {
    file.fail("none of its ", episodes.size(), " episodes ends: terminations and truncations are never true");
  }
  result.made = made_of_text(file, kMinariMade, file.attribute_if_any(kMinariMade));
  return result;
}

void write_minari(const std::filesystem::path& path, const Trajectories& trajectories,
                  const std::vector<float>& next_states) {
  check_trajectories(trajectories, next_states, path.string());
  if (next_states.empty()) base::fail(path.string(), "Minari's layout needs the state after each episode's last step");
  constexpr auto kPacking = Hdf5Output::Packing::kNone;  // as Minari: most episodes are too short for gzip
  Hdf5Output file(path);
  if (!trajectories.made.is_null()) file.add_attribute("/", kMinariMade, text_of_made(trajectories.made));
  std::vector<float> observations;
  for (std::size_t i = 0; i < trajectories.episodes.size(); ++i) {
    const Episode& episode = trajectories.episodes[i];
    const auto rows_of = [&](const std::vector<float>& values, int64_t columns) {
      return std::span(values).subspan(static_cast<std::size_t>(episode.begin * columns),
                                       static_cast<std::size_t>(episode.size() * columns));
    };
    const int64_t state_size = trajectories.state_size;
    const std::span states = rows_of(trajectories.states, state_size);
    const std::span last = rows_of(next_states, state_size).last(static_cast<std::size_t>(state_size));
    observations.assign(states.begin(), states.end());
    observations.insert(observations.end(), last.begin(), last.end());
    std::vector<int8_t> terminations(static_cast<std::size_t>(episode.size())), truncations(terminations.size());
    (episode.terminated ? terminations : truncations).back() = 1;

    const std::string group = std::string(kMinariPrefix) + std::to_string(i);
    file.add_group(group);
    file.add_attribute(group, "id", static_cast<int64_t>(i));
    file.add_attribute(group, "total_steps", episode.size());
    file.add_floats(group + "/observations", observations, state_size, kPacking);
    file.add_floats(group + "/actions", rows_of(trajectories.actions, trajectories.action_size),
                    trajectories.action_size, kPacking);
    file.add_floats(group + "/rewards", rows_of(trajectories.rewards, 1), 0, kPacking);
    file.add_flags(group + "/terminations", terminations, kPacking);
    file.add_flags(group + "/truncations", truncations, kPacking);
  }
  file.commit();
}

}  // namespace primal::data
