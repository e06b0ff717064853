#include "report/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/statistics.h"

namespace primal::report {
namespace {

/// Of a group, before it is summed up.
struct Figures {
  std::vector<double> scores, seconds;
};

/// Settings that may differ between the runs of a group.
bool is_free(const std::string& key) {
  return key == "train.seed" || key == "run.threads" || key.starts_with("train.checkpoint");
}

/// Older runs wrote stretches of training as bare numbers, some under other names.
run::Setting in_todays_words(const run::Setting& setting) {
  constexpr std::array<std::array<const char*, 3>, 4> kOld = {{{"train.epochs", "train.length", "epoch"},
                                                               {"train.evaluate_every", "train.evaluate", "epoch"},
                                                               {"train.patience", "train.patience", "epoch"},
                                                               {"schedule.warmup_steps", "schedule.warmup", "step"}}};
  for (const auto& [old, key, unit] : kOld) {
    if (setting.key != old || setting.value.starts_with('"')) continue;
    return {key, "\"" + setting.value + " " + unit + (setting.value == "1" ? "" : "s") + "\""};
  }
  return setting;
}

std::vector<run::Setting> settings_of(const run::Run& run) {
  std::vector<run::Setting> settings;
  for (const run::Setting& setting : run.config.settings) settings.push_back(in_todays_words(setting));
  return settings;
}

bool is_same_experiment(const run::Run& a, const run::Run& b) {
  const run::Result &left = *a.result, &right = *b.result;
  if (left.preset != right.preset || left.model != right.model || left.data != right.data ||
      left.protocol != right.protocol || left.metric != right.metric) {
    return false;
  }
  // A key that one of them lacks is newer than that run, which had no choice.
  std::map<std::string, std::string> known;
  for (const run::Setting& setting : settings_of(a)) known[setting.key] = setting.value;
  return std::ranges::all_of(settings_of(b), [&](const run::Setting& setting) {
    const auto found = known.find(setting.key);
    return found == known.end() || is_free(setting.key) || found->second == setting.value;
  });
}

/// The last `parts` parts of the directory, "b/c" of "/a/b/c".
std::string tail(const std::filesystem::path& directory, std::size_t parts) {
  std::filesystem::path normal = std::filesystem::absolute(directory).lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  std::filesystem::path result = normal.filename();
  while (--parts > 0 && normal.has_relative_path()) {
    normal = normal.parent_path();
    if (normal.has_filename()) result = normal.filename() / result;
  }
  return result.string();
}

}  // namespace

std::vector<Group> groups_of(const std::vector<run::Run>& runs) {
  std::vector<Group> groups;
  std::vector<Figures> figures;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::optional<run::Result>& result = runs[i].result;
    if (!result || !result->test || !std::isfinite(result->test->score)) continue;
    const auto is_same = [&](const Group& group) {
      return is_same_experiment(runs[group.runs.front()], runs[i]) &&
             std::ranges::none_of(group.runs, [&](std::size_t j) { return runs[j].result->seed == result->seed; });
    };
    const auto at = static_cast<std::size_t>(std::ranges::find_if(groups, is_same) - groups.begin());
    if (at == groups.size()) {
      groups.push_back({result->preset, result->model, result->data, result->protocol, {}, result->metric});
      figures.emplace_back();
    }
    groups[at].runs.push_back(i);
    figures[at].scores.push_back(result->test->score);
    figures[at].seconds.push_back(result->seconds);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].score = base::mean(figures[i].scores);
    groups[i].score_deviation = base::deviation(figures[i].scores);
    groups[i].seconds = base::mean(figures[i].seconds);
  }
  return groups;
}

std::vector<Difference> config_differences(const std::vector<run::Run>& runs) {
  std::vector<std::string> keys;  // in the order of the files
  std::map<std::string, std::vector<std::string>> values;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const run::Setting& setting : settings_of(runs[i])) {
      const auto [entry, is_new] = values.try_emplace(setting.key, runs.size());
      if (is_new) keys.push_back(setting.key);
      entry->second[i] = setting.value;
    }
  }
  std::vector<Difference> differences;
  for (const std::string& key : keys) {
    const std::vector<std::string>& row = values[key];
    if (std::ranges::adjacent_find(row, std::not_equal_to<>()) != row.end()) differences.push_back({key, row});
  }
  return differences;
}

std::vector<std::string> short_names(const std::vector<run::Run>& runs) {
  constexpr std::size_t kMostParts = 8;  // the same directory given twice never becomes unique
  std::vector<std::string> names;
  for (std::size_t parts = 1; parts <= kMostParts; ++parts) {
    names.clear();
    for (const run::Run& run : runs) names.push_back(tail(run.directory, parts));
    if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) break;
  }
  return names;
}

}  // namespace primal::report
