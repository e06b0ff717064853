#include "tasks/training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "primal/error.h"
#include "tasks/locations.h"
#include "tasks/time_series/series_data.h"
#include "train/failure.h"
#include "train/format.h"
#include "train/trainer.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

constexpr const char* kDefaultPreset = "series/default";  // of sets that have none
constexpr const char* kSeedsConfig = "seeds.toml";

void set_all(train::Settings& settings, const std::vector<std::string>& assignments) {
  for (const std::string& text : assignments) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) throw Error("--set " + text + ": expected key=value");
    settings.set(text.substr(0, equals), text.substr(equals + 1), "--set");
  }
}

// uea/NAME of a set that is there but has no preset of its own.
std::optional<std::string> set_without_preset(const TrainRequest& request) {
  constexpr std::string_view kFamily = "uea/";
  if (!request.preset.starts_with(kFamily) || is_preset(request.preset)) return std::nullopt;
  const std::string name = request.preset.substr(kFamily.size());
  const auto sets = data::list(data_search_path(request.data));
  const bool found = std::any_of(sets.begin(), sets.end(), [&](const data::Found& set) { return set.name == name; });
  return found ? std::optional(name) : std::nullopt;
}

void resolve(train::Settings& settings, const TrainRequest& request) {
  const auto set = set_without_preset(request);
  settings.read_file(preset_file(set ? kDefaultPreset : request.preset));
  if (set) settings.set("data.set", *set, "preset");
  settings.read_environment();
  settings.set("run.preset", request.preset, "preset");
  set_all(settings, request.set);
}

fs::path default_folder(const TimeSeriesConfig& config) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char date[32];
  std::strftime(date, sizeof date, "%Y%m%d-%H%M%S", std::localtime(&now));
  std::string name = fs::path(config.run.preset).stem().string();
  return fs::path("runs") / (name + "-" + name_of(config.run.protocol) + "-" + date);
}

// Changes that leave what has been done valid.
bool may_change(const std::string& assignment) {
  const std::string key = assignment.substr(0, assignment.find('='));
  return key == "train.epochs" || key == "train.patience" || key == "run.threads" ||
         key.starts_with("train.checkpoint");
}

// The configuration in `file`, with the changes that `set` asks for.
TimeSeriesConfig resumed_config(const fs::path& file, const std::vector<std::string>& set) {
  TimeSeriesConfig config;
  train::Settings settings;
  add_settings(settings, config);
  settings.read_file(file);
  for (const std::string& assignment : set) {
    if (!may_change(assignment)) {
      throw Error("--set " + assignment +
                  ": a resumed run keeps its configuration; only train.epochs, train.patience, "
                  "train.checkpoint_* and run.threads may change");
    }
  }
  set_all(settings, set);
  check(config);
  return config;
}

// Before anything of the run is changed.
void check_can_go_on(const fs::path& folder, const TimeSeriesConfig& config, const TrainRequest& request) {
  const SeriesData data(config, data_search_path(request.data));
  check_same_data(folder, data.load_training(/*hold_out=*/false).facts);
}

// A changed configuration is written down; with other epochs or patience a finished run is no longer finished.
train::RunDirectory resume_run(const fs::path& folder, const TimeSeriesConfig& config, const TrainRequest& request) {
  train::RunDirectory run = train::RunDirectory::resume(folder);
  const TimeSeriesConfig before = resumed_config(folder / "config.toml", {});
  const bool goes_on = before.train.epochs != config.train.epochs || before.train.patience != config.train.patience;
  if (goes_on) {
    check_can_go_on(folder, config, request);
    train::check_newest_checkpoint(run);
  }
  if (config_text(before) != config_text(config)) run.write("config.toml", config_text(config));
  if (goes_on) fs::remove(folder / "result.json");
  return run;
}

RunOutcome run_or_discard(const TimeSeriesConfig& config, const TrainRequest& request, train::RunDirectory& run,
                          train::Progress& progress) {
  try {
    return run_time_series(config, data_search_path(request.data), run, progress);
  } catch (const train::Failure& failure) {
    run.log(std::string("failed: ") + failure.what());
    run.metric({{"kind", "failure"}, {"reason", failure.what()}});
    throw;
  } catch (const std::exception&) {
    const bool has_begun = fs::exists(run.checkpoints()) || run.metric_bytes() > 0;
    if (!has_begun) run.discard();
    throw;
  }
}

// Seeds one after another; a seed that has a folder goes on where it stood.
TrainSummary train_seeds(const fs::path& folder, TimeSeriesConfig config, int64_t count, const TrainRequest& request,
                         train::Progress& progress) {
  TrainSummary summary{.folder = folder};
  const int64_t first = config.train.seed;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const fs::path own = folder / seed_folder(seed);
    config.train.seed = seed;
    train::RunDirectory run = fs::exists(own / "config.toml") ? resume_run(own, config, request)
                                                              : train::RunDirectory::create(own, config_text(config));
    const RunOutcome outcome = run_or_discard(config, request, run, progress);
    if (outcome.interrupted) {
      summary.interrupted = true;
      return summary;
    }
    summary.results.push_back(outcome.result);
  }
  return summary;
}

TrainSummary train_one(train::RunDirectory run, const TimeSeriesConfig& config, const TrainRequest& request,
                       train::Progress& progress) {
  const RunOutcome outcome = run_or_discard(config, request, run, progress);
  TrainSummary summary{.interrupted = outcome.interrupted, .folder = run.path()};
  if (!outcome.interrupted) summary.results.push_back(outcome.result);
  return summary;
}

std::string describe_one(const RunResult& result) {
  const std::string measure = train::name_of(result.measure);
  const auto score = [&](double value) { return measure + " " + train::format_score(result.measure, value); };
  std::string text = result.test ? "test " + score(result.test->score) : "no test";
  if (result.test && result.test->errors) {
    text += ", RMSE " + train::format_digits(result.test->errors->root_mean_square, 4);
  }
  text += " (" + result.model + " on " + result.data + ", protocol " + name_of(result.protocol) + ", seed " +
          std::to_string(result.seed) + ", epoch " + std::to_string(result.best_epoch) + " of " +
          std::to_string(result.epochs);
  if (result.protocol == Protocol::honest) {
    text += std::string(result.kept_last ? ", the last," : " by") + " validation " + score(result.validation_score);
    if (result.refit) text += ", refitted on all of TRAIN";
  } else {
    text += " by TEST itself";
  }
  return text + ")";
}

}  // namespace

TimeSeriesConfig resolve_config(const TrainRequest& request) {
  TimeSeriesConfig config;
  train::Settings settings;
  add_settings(settings, config);
  resolve(settings, request);
  // eval may be called from another folder.
  for (std::string* file : {&config.data.train, &config.data.test}) {
    if (!file->empty()) *file = fs::absolute(*file).lexically_normal().string();
  }
  check(config);
  return config;
}

std::string config_text(TimeSeriesConfig config) {
  train::Settings settings;
  add_settings(settings, config);
  return settings.toml();
}

std::string list_keys(const TrainRequest& request) {
  TimeSeriesConfig config;
  train::Settings settings;
  add_settings(settings, config);
  resolve(settings, request);
  return settings.listing();
}

TrainSummary train_new(const TrainRequest& request, train::Progress& progress) {
  const TimeSeriesConfig config = resolve_config(request);
  if (request.seeds < 1) throw Error("--seeds: expected at least 1, got " + std::to_string(request.seeds));
  const fs::path folder = request.run.value_or(default_folder(config));
  if (fs::exists(folder / kSeedsFile)) {
    throw Error(folder.string() + ": there are runs already; go on with them by --resume " + folder.string());
  }
  // Whether the data are there is known before the folder is made.
  const SeriesData data(config, data_search_path(request.data));
  if (request.seeds == 1) {
    return train_one(train::RunDirectory::create(folder, config_text(config)), config, request, progress);
  }
  const bool made = fs::create_directories(folder);
  data::write_file_atomically(folder / kSeedsFile, nlohmann::json{{"seeds", request.seeds}}.dump() + "\n");
  data::write_file_atomically(folder / kSeedsConfig, config_text(config));
  try {
    return train_seeds(folder, config, request.seeds, request, progress);
  } catch (const std::exception&) {
    if (!fs::exists(folder / seed_folder(config.train.seed))) {  // nothing was begun
      fs::remove(folder / kSeedsFile);
      fs::remove(folder / kSeedsConfig);
      std::error_code ignored;
      if (made) fs::remove(folder, ignored);
    }
    throw;
  }
}

TrainSummary train_resumed(const fs::path& folder, const TrainRequest& request, train::Progress& progress) {
  if (!fs::exists(folder / kSeedsFile)) {
    if (!fs::exists(folder / "config.toml")) throw Error(folder.string() + ": no run here (config.toml is missing)");
    const TimeSeriesConfig config = resumed_config(folder / "config.toml", request.set);
    return train_one(resume_run(folder, config, request), config, request, progress);
  }
  const TimeSeriesConfig config = resumed_config(folder / kSeedsConfig, request.set);
  if (config_text(config) != config_text(resumed_config(folder / kSeedsConfig, {}))) {
    check_can_go_on(folder / seed_folder(config.train.seed), config, request);
    data::write_file_atomically(folder / kSeedsConfig, config_text(config));
  }
  const nlohmann::json seeds = train::read_json(folder / kSeedsFile);
  return train_seeds(folder, config, seeds.value("seeds", int64_t{1}), request, progress);
}

MeanDeviation mean_deviation(const std::vector<double>& values) {
  MeanDeviation result;
  const double count = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / count;
  for (const double value : values) result.deviation += (value - result.mean) * (value - result.mean);
  result.deviation = values.size() > 1 ? std::sqrt(result.deviation / (count - 1)) : 0;
  return result;
}

std::string describe(const TrainSummary& summary) {
  std::string text;
  std::vector<double> scores;
  for (const RunResult& result : summary.results) {
    text += describe_one(result) + "\n";
    if (result.test) scores.push_back(result.test->score);
  }
  if (scores.size() > 1) {
    const MeanDeviation all = mean_deviation(scores);
    const RunResult& first = summary.results.front();
    text += "mean " + train::format_score(first.measure, all.mean) + " +- " +
            train::format_score(first.measure, all.deviation) + " over " + std::to_string(scores.size()) +
            " seeds, protocol " + name_of(first.protocol) + "\n";
  }
  return text;
}

}  // namespace primal::tasks
