#include "tasks/run_task.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json_fields.h"
#include "base/json_file.h"
#include "base/peak_memory.h"
#include "kernels/cpu_features.h"
#include "primal/error.h"
#include "run/classification.h"
#include "tasks/watch.h"
#include "train/checkpoint.h"
#include "train/start_weights.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

using base::Progress;
using run::RunDirectory;
using train::Outcome;

constexpr int64_t kLooks = 10;  // at the signs of failure, in a run

void say(RunDirectory& run, Progress& progress, const std::string& text) {
  run.log(base::printable(text, /*lines=*/true));
  progress.line(text);
}

train::TrainPlan plan_of(const Config& config) {
  const bool paper = config.run.protocol == Protocol::paper;
  train::EvaluationTimes times = paper ? config.published_evaluations() : train::EvaluationTimes{config.train.evaluate};
  // Given weights may be better than all that come after them.
  if (!config.train.start_from.empty()) times.also.push_back(base::steps(0));
  return {.selection = config.selection(), .evaluations = times, .advice = config.advice()};
}

// After the records that begin a new tenth of the run, but for the last one.
auto looks_of(Watch& watch) {
  return [&watch, last = int64_t{0}](int64_t step, int64_t total) mutable {
    const int64_t tenth = kLooks * step / total;
    if (tenth > last && step < total) watch.look();
    last = std::max(last, tenth);
  };
}

int64_t parameter_count(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const torch::Tensor& parameter : module.parameters()) count += parameter.numel();
  return count;
}

std::string introduction(const Config& config, Task& task) {
  return task.description() + "\n" + config.model_name() + ", " +
         base::format_count(static_cast<double>(parameter_count(task.model()))) + " parameters; protocol " +
         name_of(config.run.protocol) + ", seed " + std::to_string(config.train.seed) + ", " +
         std::to_string(threads_of(config.run)) + " threads" +
         (config.train.start_from.empty() ? "" : "\nstarts from the weights of " + config.train.start_from);
}

// What is worth knowing before the first step.
void say_notes(const Task& task, RunDirectory& run, Progress& progress) {
  for (const std::string& note : task.notes()) say(run, progress, "note: " + note);
  if (run.metric_bytes() > 0 && !train::latest_checkpoint(run.checkpoints())) {
    say(run, progress, "note: there is no checkpoint to go on from; the run starts anew");
  }
}

// A run that goes on has weights of its own.
void give_start_weights(const Config& config, Task& task, const RunDirectory& run) {
  if (config.train.start_from.empty() || train::latest_checkpoint(run.checkpoints())) return;
  train::load_start_weights(task.model(), config.train.start_from);
}

void write_facts(const Task& task, const RunDirectory& run) {
  run.write("data.json", task.facts().dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

// The refit: all of TRAIN, as many epochs as the validation part chose, no evaluation on the way.
Outcome refit(const Config& config, const Outcome& chosen, Task& task, RunDirectory& run, Progress& progress) {
  const fs::path folder = run.path() / "refit";
  RunDirectory inner = fs::exists(folder / "config.toml") ? RunDirectory::resume(folder)
                                                          : RunDirectory::create(folder, "# see ../config.toml\n");
  train::TrainOptions options = config.train;
  options.patience.count = 0;
  // All of TRAIN has more steps in an epoch: as many passes, not as many steps.
  const train::Order order({.examples = task.examples(),
                            .batch = options.batch,
                            .accumulate = options.accumulate,
                            .seed = options.seed,
                            .passes = options.passes});
  train::TrainPlan plan{.last_step = order.steps_at(chosen.best_epoch), .advice = config.advice()};
  if (options.length.unit == base::SpanUnit::steps && chosen.best.step > 0) {  // the schedule is longer alike
    const double longer = static_cast<double>(*plan.last_step) / static_cast<double>(chosen.best.step);
    options.length.count = std::llround(longer * static_cast<double>(options.length.count));
  }
  give_start_weights(config, task, inner);
  train::Trainer trainer(task, options, config.optimizer, config.schedule, std::move(plan), inner, progress);
  return trainer.run();
}

// RUN/best and data.json are what eval and predict read.
void keep_refitted(Task& task, RunDirectory& run) {
  write_facts(task, run);
  train::save_checkpoint(run.path(), "best", {models::tensors_of(task.model()), {}, "{\"refit\": true}"});
}

run::Result result_of(const Config& config, const Task& task, const Outcome& outcome) {
  const bool has_validation = config.selection() == Part::validation;
  return {.family = config.run.family,
          .preset = config.run.preset,
          .model = config.model_name(),
          .data = task.facts().at("name").get<std::string>(),
          .protocol = config.run.protocol,
          .refit = config.run.refit,
          .kept_last = config.train.keep == train::Keep::last,
          .seed = config.train.seed,
          .steps = outcome.steps,
          .best_step = outcome.best.step,
          .epochs = outcome.epochs,
          .best_epoch = outcome.best_epoch,
          .metric = task.metric(),
          .validation_score = has_validation ? outcome.best.evaluation.score : run::kNoNumber,
          .test = has_validation ? std::nullopt : std::optional(outcome.best.evaluation),
          .seconds = outcome.seconds,
          .tokens_per_second = static_cast<double>(outcome.tokens) / std::max(outcome.seconds, 1e-9),
          .threads = threads_of(config.run),
          .cpu = kernels::cpu_name()};
}

Evaluation evaluate(Task& task, Part part) {
  torch::NoGradGuard no_grad;
  task.model().eval();
  return task.evaluate(part);
}

void finish(const Config& config, Task& task, run::Result& result, RunDirectory& run) {
  task.model().eval();
  if (config.selection() == Part::validation && config.run.test && task.has(Part::test)) {
    result.test = evaluate(task, Part::test);
  }
  result.parameters = parameter_count(task.model());
  result.peak_memory_mb = static_cast<double>(base::peak_memory()) / (1 << 20);
  analyse(
      task, run, [&](const std::string& note) { run.log(note); }, Matrices::yes);
  run.write("result.json", to_text(result));
}

}  // namespace

// With other training data it would train on what it held out before, and scale them otherwise. Scores of another TEST
// cannot be compared: neither with each other, to choose the best weights, nor with those of other runs.
void check_same_data(const fs::path& run, const Task& task, const std::set<Part>& must_tell) {
  const fs::path file = run / "data.json";
  if (!fs::exists(file)) return;
  const nlohmann::json json = base::parse_object(base::read_text_if_any(file).value_or(""), file.string());
  const nlohmann::json now = task.facts();
  const base::Fields before(json, file.string());
  const auto check = [&](Part part, const char* which, const char* key) {
    const std::string then = before.text_if_any(key), today = now.value(key, "");
    if (then.empty() && !today.empty() && must_tell.contains(part)) {
      throw Error(file.string() + ": has no " + key + ", so that other files cannot be told from those of the run");
    }
    if (today.empty() || is_of_same_data(then, today)) return;
    throw Error(file.string() + ": the " + which + " data of " + now.value("name", "") +
                " have changed since this run began; restore them, or start a new run");
  };
  check(Part::train, "training", "fingerprint");
  check(Part::test, "TEST", "test_fingerprint");
}

RunOutcome run_task(const Config& config, Task& task, RunDirectory& run, Progress& progress) {
  check_same_data(run.path(), task);
  give_start_weights(config, task, run);
  write_facts(task, run);
  say(run, progress, introduction(config, task));
  say_notes(task, run, progress);

  Watch watch(task, config.advice(), run, [&](const std::string& text) { say(run, progress, text); });
  train::TrainPlan plan = plan_of(config);
  plan.after_record = looks_of(watch);
  train::Trainer trainer(task, config.train, config.optimizer, config.schedule, std::move(plan), run, progress);
  const Outcome outcome = trainer.run();
  if (outcome.interrupted) return {.interrupted = true};
  run::Result result = result_of(config, task, outcome);
  watch.look();
  if (!config.run.refit) {
    trainer.restore_best();
    // The evaluation in a checkpoint of an older version has no names of classes.
    const bool is_nameless = result.test && result.test->details.contains("confusion") && !class_details(*result.test);
    if (is_nameless) result.test = evaluate(task, Part::test);
    finish(config, task, result, run);
    return {.result = result};
  }
  say(run, progress, "refit on all of TRAIN for " + base::format_digits(outcome.best_epoch, 6) + " epochs");
  const std::unique_ptr<Task> whole = task.whole();
  const Outcome second = refit(config, outcome, *whole, run, progress);
  if (second.interrupted) return {.interrupted = true};
  result.seconds += second.seconds;
  keep_refitted(*whole, run);
  finish(config, *whole, result, run);
  return {.result = result};
}

}  // namespace primal::tasks
