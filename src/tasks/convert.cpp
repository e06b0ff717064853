#include "tasks/convert.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <string_view>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "base/json_file.h"
#include "base/span.h"
#include "base/text.h"
#include "primal/error.h"
#include "run/config_text.h"
#include "run/result.h"
#include "run/run_directory.h"
#include "tasks/convert_layers.h"
#include "tasks/trained.h"
#include "tasks/training.h"
#include "train/checkpoint.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

using base::Progress;

constexpr const char* kConvertFile = "convert.json";
constexpr const char* kConvertedWeights = "converted";  // the weights that the training begins with
constexpr int64_t kLearntExamples = 2048, kLearntTokens = 1 << 16;

struct ConvertPlan {
  ConvertRequest request{};
  fs::path folder{};
  std::vector<size_t> layers{};
  std::vector<std::string> model_set{};  // "key=value" of every run that is made
  std::vector<std::string> short_set{};  // of those that are trained for `length`, besides
  nlohmann::json identity{};             // of the request
};

// What a run must not change, since the new one is compared with it and begins where it ended.
void check_convert_set(const std::vector<std::string>& set) {
  static const std::set<std::string> ours = {"model.layers",     "train.length", "train.epochs",
                                             "train.start_from", "train.seed",   "run.threads"};
  for (const std::string& assignment : set) {
    const std::string key = assignment.substr(0, assignment.find('='));
    if (!ours.contains(key) && !key.starts_with("data.") && !key.starts_with("run.")) continue;
    throw Error(
        "--set " + assignment +
        ": a conversion keeps data, protocol and seed of the run; --layers, --length and --threads say the rest");
  }
}

// Other keys of the model would change what the layers that stay compute. An unknown one is told of as ever.
void check_of_new_layers(const std::vector<std::string>& set, Config& config) {
  static const std::vector<std::string> may_change = {
      "model.attention_dropout", "model.data_dependent", "model.dropout",
      "model.feature_map",       "model.init",           "model.lambda",
      "model.projections",       "model.rank",           "model.rows",
      "model.rows_per_rank"};
  const run::Config known = run::parse_config(config.toml());
  for (const std::string& assignment : set) {
    const std::string key = assignment.substr(0, assignment.find('='));
    if (!key.starts_with("model.") || std::ranges::find(may_change, key) != may_change.end()) continue;
    if (!known.find(key)) continue;
    throw Error("--set " + assignment + ": the layers that stay keep what they compute; of model.* only " +
                base::joined(may_change, ", ") + " may change");
  }
}

base::Span convert_length(const std::string& text, const train::TrainOptions& own) {
  constexpr int64_t kPart = 10;
  if (text.empty()) return {std::max<int64_t>((own.length.count + kPart - 1) / kPart, 1), own.length.unit};
  const auto span = base::parse_span(text, own.length.unit);
  if (span && span->count >= 1) return *span;
  throw Error("--length: expected a length such as \"10 epochs\" or \"500 steps\", got " + base::in_quotes(text));
}

bool is_set(const std::vector<std::string>& set, const std::string& key) {
  return std::ranges::any_of(set, [&](const std::string& assignment) { return assignment.starts_with(key + "="); });
}

// Distances of the schedule shrink with the length; what --set says comes after them.
std::vector<std::string> set_for_convert_length(base::Span length, const Config& config,
                                                const std::vector<std::string>& given) {
  std::vector<std::string> set = {"train.length=" + base::to_text(length)};
  const base::Span own = config.train.length;
  if (own.unit != length.unit) {
    const bool has_warmup = config.schedule.warmup.count > 0 && !is_set(given, "schedule.warmup");
    const bool has_steps = config.schedule.step_every > 0 && !is_set(given, "schedule.step_every");
    if (!has_warmup && !has_steps) return set;
    throw Error("--length " + base::to_text(length) + ": the run's own length is " + base::to_text(own) +
                ", and its schedule shrinks with it: give the same unit, or --set " +
                (has_warmup ? "schedule.warmup" : "schedule.step_every") + "=...");
  }
  const double factor = static_cast<double>(length.count) / static_cast<double>(own.count);
  const auto shrunk = [&](int64_t count, int64_t least) {
    return std::max<int64_t>(std::llround(factor * static_cast<double>(count)), least);
  };
  const train::ScheduleOptions& schedule = config.schedule;
  if (schedule.warmup.count > 0) {
    // A rise may be as long as a short training, and only an inverse root cannot do without.
    const int64_t least = schedule.kind == train::ScheduleKind::inverse_sqrt ? 1 : 0;
    set.push_back("schedule.warmup=" + base::to_text({shrunk(schedule.warmup.count, least), schedule.warmup.unit}));
  }
  if (schedule.step_every > 0) {
    set.push_back("schedule.step_every=" + std::to_string(shrunk(schedule.step_every, 1)));
  }
  return set;
}

// Whole, without a slash at its end.
fs::path place_of(const fs::path& run) { return (fs::absolute(run) / "").lexically_normal().parent_path(); }

fs::path converted_folder(const fs::path& run) {
  fs::path folder = (run / "").parent_path();
  if (folder.filename() == "." || folder.filename() == "..") folder = place_of(run);
  folder += "-converted";
  return folder;
}

void check_is_finished_run(const fs::path& run) {
  if (!fs::exists(run / "config.toml") || fs::exists(run / "result.json")) return;  // no run: open_trained() says more
  throw Error(run.string() + ": the run is not finished; go on with it by primal train --resume " +
              base::shell_word(run.string()));
}

ConvertPlan conversion_plan(const ConvertRequest& request, Trained& old) {
  const Config& config = *old.resolved.config;
  check_of_new_layers(request.set, *old.resolved.config);
  const std::vector<nn::EncoderLayerImpl*> layers = encoder_layers(old.task->model());
  ConvertPlan plan{.request = request, .folder = request.folder.value_or(converted_folder(request.run))};
  plan.layers = layers_to_convert(request.layers, layers, request.run.string());
  std::vector<std::string> kinds;
  for (const auto* layer : layers) kinds.push_back(layer->attention->options().kind);
  for (const size_t i : plan.layers) kinds[i] = "primal";
  plan.model_set = {"model.layers=" + base::joined(kinds, ",")};
  if (request.threads > 0) plan.model_set.push_back("run.threads=" + std::to_string(request.threads));
  const base::Span length = convert_length(request.length, config.train);
  plan.short_set = set_for_convert_length(length, config, request.set);
  plan.identity = {{"run", place_of(request.run).string()}, {"layers", plan.layers},        {"set", request.set},
                   {"length", base::to_text(length)},       {"examples", request.examples}, {"steps", request.steps}};
  return plan;
}

// Whether the folder has this very conversion.
bool has_this_conversion(const ConvertPlan& plan) {
  const fs::path& folder = plan.folder;
  if (fs::exists(folder / kConvertFile)) {
    const Conversion found = read_conversion(folder / kConvertFile);
    if (found.request == plan.identity) {
      if (found.scores.contains(kConverted)) return true;
      fs::remove_all(folder);  // stopped while it was being written
      return false;
    }
    throw Error(folder.string() + ": there is another conversion already; give this one another --run");
  }
  if (fs::exists(folder / "config.toml")) {
    throw Error(folder.string() + ": there is a run already; give the conversion another --run");
  }
  run::RunDirectory::check_is_new(folder);
  return false;
}

enum class FirstWeights { converted, random };
enum class TrainedFor { as_tuned, as_run };

Resolved converted_config(const ConvertPlan& plan, FirstWeights start, TrainedFor length) {
  std::vector<std::string> set = plan.model_set;
  if (length == TrainedFor::as_tuned) set.insert(set.end(), plan.short_set.begin(), plan.short_set.end());
  const fs::path weights =
      start == FirstWeights::converted ? fs::absolute(plan.folder / kConvertedWeights).lexically_normal() : fs::path();
  set.push_back("train.start_from=" + weights.string());
  set.insert(set.end(), plan.request.set.begin(), plan.request.set.end());
  return read_config(plan.request.run / "config.toml", set);
}

// What a result of the run would report.
Part part_reported(const Config& config, const Task& task) {
  return config.run.test && task.has(Part::test) ? Part::test : config.selection();
}

ConvertScore convert_score(Task& task, Part part) {
  const torch::NoGradGuard no_grad;
  task.model().eval();
  const Evaluation evaluation = task.evaluate(part);
  return {.score = evaluation.score, .loss = evaluation.loss};
}

ConvertScore convert_score(const run::Result& result) {
  return {.score = result.test ? result.test->score : result.validation_score,
          .loss = result.test ? result.test->loss : std::nullopt,
          .steps = result.steps,
          .seconds = result.seconds};
}

void write_conversion(const ConvertPlan& plan, const Conversion& conversion) {
  base::write_file_atomically(plan.folder / kConvertFile, to_json(conversion).dump(2) + "\n");
}

// The new run as it is before its first step: it can be evaluated, and training goes on from it.
void write_converted_run(const ConvertPlan& plan, const Conversion& conversion, Trained& converted) {
  const run::RunDirectory run = run::RunDirectory::create(plan.folder, converted.resolved.config->toml());
  Conversion begun = conversion;
  begun.scores.erase(kConverted);
  write_conversion(plan, begun);
  run.write("data.json", converted.task->facts().dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  const train::Tensors weights = models::tensors_of(converted.task->model());
  for (const char* name : {kConvertedWeights, "best"}) {
    train::save_checkpoint(plan.folder, name, {weights, {}, R"({"step": 0, "converted": true})"});
  }
}

Conversion convert_model(const ConvertPlan& plan, Trained& old, Progress& progress) {
  const ConvertRequest& request = plan.request;
  Trained made =
      open_changed(request.run, converted_config(plan, FirstWeights::converted, TrainedFor::as_tuned), request.data);
  take_other_weights(made.task->model(), old.task->model(), plan.layers);
  const Config &config = *made.resolved.config, &old_config = *old.resolved.config;
  Conversion conversion{.request = plan.identity, .run = request.run.string(), .metric = old.task->metric()};
  const Part part = part_reported(old_config, *old.task);
  conversion.what = old_config.model_name() + " of " + request.run.string() + " becomes " + config.model_name() +
                    " in " + plan.folder.string();
  conversion.data = old.task->describe({.part = part});
  const auto evaluated = [&](const char* key, Task& task, const std::string& what) {
    conversion.scores[key] = convert_score(task, part);
    progress.line(what + ": " + conversion.metric.name + " " +
                  run::format_score(conversion.metric, conversion.scores[key].score));
  };
  evaluated(kBefore, *old.task, "before");
  evaluated(kFreshLayers, *made.task, "with fresh layers");
  const auto start = std::chrono::steady_clock::now();
  const DataChoice choice{.part = Part::train,
                          .examples = request.examples > 0 ? request.examples : kLearntExamples,
                          .tokens = request.examples > 0 ? 0 : kLearntTokens,
                          .spread = true};
  conversion.layers = learn_layers(*made.task, *old.task, plan.layers,
                                   {.choice = choice,
                                    .steps = request.steps,
                                    .seed = static_cast<uint64_t>(config.train.seed),
                                    .say = [&](const std::string& text) { progress.line(text); }});
  conversion.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  evaluated(kConverted, *made.task, "after conversion");
  conversion.scores[kConverted].seconds = conversion.seconds;
  write_converted_run(plan, conversion, made);
  write_conversion(plan, conversion);
  return conversion;
}

struct ConvertTraining {
  const char* key;
  fs::path folder;
  Resolved config;
};

// The trainings that are asked for. The first one is of the new run itself, whose configuration is there.
std::vector<ConvertTraining> convert_trainings(const ConvertPlan& plan) {
  std::vector<ConvertTraining> trainings;
  const auto add = [&](const char* key, const fs::path& folder, FirstWeights start, TrainedFor length) {
    trainings.push_back({key, folder, converted_config(plan, start, length)});
  };
  if (plan.request.tune) {
    add(kTuned, plan.folder, FirstWeights::converted, TrainedFor::as_tuned);
    add(kScratch, plan.folder / "scratch", FirstWeights::random, TrainedFor::as_tuned);
  }
  if (plan.request.scratch) add(kScratchFull, plan.folder / "scratch-full", FirstWeights::random, TrainedFor::as_run);
  return trainings;
}

// What a training that gave up leaves: the others are worth having.
bool is_only_compared(const ConvertTraining& training) { return std::string_view(training.key) != kTuned; }

// False: interrupted.
bool run_training(const ConvertTraining& training, const ConvertPlan& plan, Conversion& conversion,
                  Progress& progress) {
  if (!fs::exists(training.folder / "config.toml")) {
    run::RunDirectory::create(training.folder, training.config.config->toml());
  }
  TrainRequest request{.config = {.data = plan.request.data}};
  if (plan.request.threads > 0) request.config.set = {"run.threads=" + std::to_string(plan.request.threads)};
  try {
    const TrainSummary summary = train_resumed(training.folder, request, progress);
    if (summary.interrupted) return false;
    conversion.scores[training.key] = convert_score(summary.results.front());
    write_conversion(plan, conversion);
  } catch (const base::Failure& failure) {
    if (!is_only_compared(training)) throw;
    progress.line(training.folder.string() + ": gave up: " + failure.what());
  }
  return true;
}

void say_refit_note(const Config& config, Progress& progress) {
  if (!config.run.refit) return;
  progress.line(
      "note: the run was refitted on all of TRAIN, so its weights know the validation part too; TEST is untouched");
}

}  // namespace

ConvertSummary convert(const ConvertRequest& request, Progress& progress) {
  check_convert_set(request.set);
  check_is_finished_run(request.run);
  Trained old = open_trained(request.run, request.data, request.threads);
  if (old.resolved.config->run.refit && !old.resolved.config->run.test) {
    throw Error(request.run.string() +
                ": was refitted and has no TEST score (run.test = false): nothing to compare by");
  }
  const ConvertPlan plan = conversion_plan(request, old);
  ConvertSummary summary{.folder = plan.folder};
  const bool begun = has_this_conversion(plan);
  const std::vector<ConvertTraining> trainings = convert_trainings(plan);  // a wrong --set is known before the work
  if (!begun) say_refit_note(*old.resolved.config, progress);
  summary.conversion = begun ? read_conversion(plan.folder / kConvertFile) : convert_model(plan, old, progress);
  old.task.reset();  // trainings open the data anew
  for (const ConvertTraining& training : trainings) {
    if (run_training(training, plan, summary.conversion, progress)) continue;
    summary.interrupted = true;
    break;
  }
  return summary;
}

}  // namespace primal::tasks
