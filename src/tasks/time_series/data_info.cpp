#include "tasks/time_series/data_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "data/series/locate.h"
#include "data/series/series_reader.h"
#include "data/series/summary.h"
#include "tasks/time_series/data_notes.h"

namespace primal::tasks {

namespace {

constexpr size_t kChannelsShown = 40;  // --json has all

std::string to_text(const std::string& part, const data::Summary& summary) {
  std::string text = part + "\n" + base::printed("  cases     %ld\n  channels  %ld", summary.cases, summary.channels);
  if (!summary.channel_names.empty()) text += ": " + some_of(summary.channel_names, kChannelsShown);
  text += "\n";
  text += base::printed("  lengths   %ld to %ld, mean %.1f\n", summary.shortest, summary.longest, summary.mean_length);
  text += base::printed("  missing   %ld values\n", summary.missing);
  if (summary.has_times) text += "  times     given for each step\n";
  if (summary.targets) text += base::printed("  targets   %g to %g\n", summary.targets->first, summary.targets->second);
  if (summary.classes.empty()) return text;
  text += base::printed("  classes   %zu\n", summary.classes.size());
  for (const auto& [name, cases] : summary.classes) {
    text += "    " + base::padded(name, 20) +
            base::printed(" %6ld  %5.1f %%\n", cases,
                          100.0 * static_cast<double>(cases) / static_cast<double>(summary.cases));
  }
  return text;
}

nlohmann::json to_json(const std::string& part, const data::Summary& summary) {
  nlohmann::json json = {{"file", part},
                         {"cases", summary.cases},
                         {"channels", summary.channels},
                         {"channel_names", summary.channel_names},
                         {"shortest", summary.shortest},
                         {"longest", summary.longest},
                         {"mean_length", summary.mean_length},
                         {"missing", summary.missing},
                         {"has_times", summary.has_times}};
  if (summary.targets) json["targets"] = {summary.targets->first, summary.targets->second};
  for (const auto& [name, cases] : summary.classes) json["classes"][name] = cases;
  return json;
}

DataInfo info_of(const std::vector<std::pair<std::string, data::TimeSeriesSet>>& parts) {
  DataInfo info{.text = {}, .json = nlohmann::json::array()};
  for (const auto& [name, set] : parts) {
    const data::Summary summary = data::summarise(set);
    const std::vector<std::string> notes = channel_notes(set);
    info.text += to_text(name, summary);
    for (const std::string& note : notes) info.text += "  note      " + note + "\n";
    info.json.push_back(to_json(name, summary));
    info.json.back()["notes"] = notes;
  }
  return info;
}

bool is_file_name(const std::string& name) {
  const std::filesystem::path path(name);  // "lra/listops" is a set of another family
  return name == "-" || (path.has_parent_path() && path.has_extension()) || name.ends_with(".ts") ||
         name.ends_with(".csv") || (std::filesystem::exists(path) && !std::filesystem::is_directory(path));
}

// The set that a preset such as uea/NAME is of; "" if this is no such name.
std::string set_of_preset(const std::string& name) {
  const std::filesystem::path path(name);
  const bool is_preset = path.parent_path() == "uea" && path.has_filename() && !path.has_extension();
  return is_preset && !std::filesystem::exists(path) ? path.filename().string() : "";
}

}  // namespace

std::optional<DataInfo> series_info(const std::string& name, const data::SearchPath& search) {
  const std::string set = set_of_preset(name);
  if (set.empty() && is_file_name(name)) {
    return info_of({{name, data::read_series(name, {.labels_optional = true})}});
  }
  const std::string& wanted = set.empty() ? name : set;
  const auto sets = data::list(search);
  if (std::ranges::none_of(sets, [&](const data::Found& one) { return one.name == wanted; })) return std::nullopt;
  const data::Located found = data::locate(search, wanted);
  return info_of(
      {{found.train.string(), data::read_series(found.train)}, {found.test.string(), data::read_series(found.test)}});
}

}  // namespace primal::tasks
