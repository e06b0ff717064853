#include "tasks/offline_rl/data_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/statistics.h"
#include "data/trajectories/trajectories.h"
#include "tasks/offline_rl/home_sets.h"
#include "tasks/offline_rl/trajectory_sets.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "offline-rl/";

nlohmann::json numbers_json(std::vector<double> values) {
  std::ranges::sort(values);
  nlohmann::json json = {{"mean", base::mean(values)},
                         {"least", values.front()},
                         {"median", values[values.size() / 2]},
                         {"most", values.back()}};
  if (values.size() > 1) json["deviation"] = base::deviation(values);
  return json;
}

nlohmann::json info_json(const data::Trajectories& trajectories) {
  std::vector<double> returns, lengths;
  int64_t fell = 0;
  for (const data::Episode& episode : trajectories.episodes) {
    returns.push_back(trajectories.episode_return(episode));
    lengths.push_back(static_cast<double>(episode.size()));
    fell += episode.terminated;
  }
  return {{"steps", trajectories.rows()},
          {"episodes", trajectories.episodes.size()},
          {"terminated", fell},
          {"unfinished", trajectories.unfinished},
          {"states", trajectories.state_size},
          {"actions", trajectories.action_size},
          {"returns", numbers_json(returns)},
          {"lengths", numbers_json(lengths)},
          {"made", trajectories.made}};
}

std::string spread_line(const char* name, const nlohmann::json& numbers) {
  const auto number = [&](const char* key) { return numbers.at(key).get<double>(); };
  return base::printed("  %-11s mean %.1f +- %.1f, %.1f to %.1f, median %.1f\n", name, number("mean"),
                       numbers.value("deviation", 0.0), number("least"), number("most"), number("median"));
}

std::string info_text(const nlohmann::json& json) {
  const auto whole = [&](const char* key) { return json.at(key).get<int64_t>(); };
  std::string text =
      base::printed("  steps       %ld, states of %ld numbers, actions of %ld\n", whole("steps"), whole("states"),
                    whole("actions")) +
      base::printed("  episodes    %ld, %ld of them ended by a fall\n", whole("episodes"), whole("terminated"));
  if (whole("unfinished") > 0) text += base::printed("  unfinished  %ld steps, left out\n", whole("unfinished"));
  text += spread_line("returns", json.at("returns")) + spread_line("lengths", json.at("lengths"));
  const nlohmann::json& made = json.at("made");
  if (!made.is_object() || !made.contains("expert_return")) return text;
  const auto field = [&](const char* key) { return made.value(key, nlohmann::json()); };  // of any type
  const auto worth = [&](const char* key) { return field(key).is_number() ? field(key).get<double>() : 0.0; };
  const std::string algorithm = field("algorithm").is_string() ? field("algorithm").get<std::string>() : "?";
  return text + base::printed("  made        by primal, %s; score 0 is a return of %.1f, 100 one of %.1f\n",
                              algorithm.c_str(), worth("random_return"), worth("expert_return"));
}

std::optional<fs::path> file_of(const std::string& name, const data::SearchPath& search) {
  if (name.starts_with(kPrefix)) {
    const std::string set = name.substr(kPrefix.size());
    if (home_set(set) || d4rl_set(set)) return trajectory_file(set, search, /*progress=*/nullptr, /*threads=*/1);
  }
  const std::string ending = fs::path(name).extension().string();
  return ending == ".hdf5" || ending == ".h5" ? std::optional(fs::path(name)) : std::nullopt;
}

}  // namespace

std::vector<DataSet> offline_rl_data_sets(const data::SearchPath& search) {
  std::vector<DataSet> sets;
  const auto add = [&](const std::string& name, const std::optional<fs::path>& place) {
    if (place) sets.push_back({std::string(kPrefix) + name, *place});
  };
  for (const HomeSet& set : home_sets()) add(set.name(), find_home_file(set, search));
  for (const D4rlSet& set : d4rl_sets()) add(set.name(), find_d4rl_file(set, search));
  return sets;
}

std::optional<DataInfo> offline_rl_info(const std::string& name, const data::SearchPath& search) {
  const auto file = file_of(name, search);
  if (!file) return std::nullopt;
  DataInfo info{.text = name + "\n" + file->string() + "\n", .json = info_json(data::read_trajectories(*file))};
  info.text += info_text(info.json);
  return info;
}

}  // namespace primal::tasks
