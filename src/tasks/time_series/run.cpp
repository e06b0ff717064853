#include "tasks/time_series/run.h"

#include <ATen/Parallel.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <thread>

#include "analysis/findings.h"
#include "analysis/spectrum.h"
#include "kernels/cpu_features.h"
#include "nn/record.h"
#include "primal/error.h"
#include "report/run.h"
#include "tasks/time_series/problem.h"
#include "tasks/time_series/series_data.h"
#include "train/checkpoint.h"
#include "train/compute_threads.h"
#include "train/failure.h"
#include "train/format.h"
#include "train/peak_memory.h"

namespace primal::tasks {

namespace {

namespace fs = std::filesystem;
using train::Outcome;
using train::Part;
using train::Progress;
using train::RunDirectory;

constexpr int64_t kLooks = 10;          // at the signs of failure, in a run
constexpr int64_t kSpectrumCases = 32;  // of the training part: enough for a mean, quick at any length

void say(RunDirectory& run, Progress& progress, const std::string& text) {
  run.log(text);
  progress.line(text);
}

// Published: before training, after epoch 1, every second epoch and the last.
bool published_evaluation(int64_t epoch, int64_t epochs) { return epoch <= 1 || epoch % 2 == 0 || epoch == epochs; }

train::TrainOptions train_options(const TimeSeriesConfig& config) {
  train::TrainOptions options = config.train;
  if (config.run.protocol == Protocol::paper) {
    options.selection = Part::test;
    options.evaluates = [epochs = options.epochs](int64_t epoch) { return published_evaluation(epoch, epochs); };
  } else {
    options.selection = Part::validation;
    options.evaluates = [every = options.evaluate_every, epochs = options.epochs](int64_t epoch) {
      return epoch > 0 && (epoch % every == 0 || epoch == epochs);
    };
  }
  return options;
}

TimeSeriesProblem make_problem(const TimeSeriesConfig& config, const SeriesData& data, bool hold_out) {
  TrainingData training = data.load_training(hold_out);
  // Seeded here, so that neither the reader nor the split has a say in the initial weights.
  torch::manual_seed(static_cast<uint64_t>(config.train.seed));
  return {config, std::move(training), [&data](const SeriesFacts& facts) { return data.load_test(facts); }};
}

int64_t parameter_count(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const torch::Tensor& parameter : module.parameters()) count += parameter.numel();
  return count;
}

std::string describe(const TimeSeriesConfig& config, const TimeSeriesProblem& problem, int64_t parameters) {
  const TrainingData& data = problem.data();
  std::string text = data.facts.name + ": " + std::to_string(data.train.cases()) + " training series";
  if (data.validation.cases() > 0) text += ", " + std::to_string(data.validation.cases()) + " for validation";
  text += ", " + std::to_string(data.facts.channels) + " channels, up to " + std::to_string(data.facts.tokens) +
          " steps, " + (data.facts.target ? "a target" : std::to_string(data.facts.classes.size()) + " classes") + "\n";
  return text + model_name(config) + ", " + train::format_count(static_cast<double>(parameters)) +
         " parameters; protocol " + name_of(config.run.protocol) + ", seed " + std::to_string(config.train.seed) +
         ", " + std::to_string(threads_of(config)) + " threads";
}

nlohmann::json to_json(const analysis::LayerFacts& layer, size_t index) {
  return {{"index", index},
          {"name", layer.name},
          {"rank", layer.rank},
          {"rows", layer.rows},
          {"tokens", layer.tokens},
          {"heads", layer.heads},
          {"lambda", layer.lambda},
          {"singular_values_e", layer.singular_values_e},
          {"singular_values_r", layer.singular_values_r},
          {"effective_rank_e", layer.effective_rank_e},
          {"effective_rank_r", layer.effective_rank_r}};
}

// RUN/analysis.json
void analyse(TimeSeriesProblem& problem, const RunDirectory& run) {
  std::vector<int64_t> cases(static_cast<size_t>(std::min(problem.examples(), kSpectrumCases)));
  std::iota(cases.begin(), cases.end(), 0);
  const models::SeriesBatch batch = problem.batch(problem.data().train, cases);
  const auto layers =
      analysis::spectrum_of(nn::record(*problem.classifier(), [&] { problem.classifier()->forward(batch); }));
  nlohmann::json json = {{"layers", nlohmann::json::array()}};
  for (size_t i = 0; i < layers.size(); ++i) json["layers"].push_back(to_json(layers[i], i));
  run.write("analysis.json", json.dump(2) + "\n");
}

bool is_finite(const torch::nn::Module& model) {
  const auto parameters = model.parameters();
  return std::all_of(parameters.begin(), parameters.end(),
                     [](const torch::Tensor& p) { return std::isfinite(p.detach().sum().item<double>()); });
}

// Known failure signatures, each said once, as soon as it shows.
class Watch {
 public:
  Watch(TimeSeriesProblem& problem, double clip, RunDirectory& run, Progress& progress)
      : problem_(problem), advice_(train::smaller_steps(clip)), run_(run), progress_(progress) {}

  void look() {
    if (!is_finite(problem_.model())) throw train::Failure("the weights are no longer finite; " + advice_);
    try {
      analyse(problem_, run_);
    } catch (const c10::Error&) {  // the decomposition of finite, but huge numbers
      throw train::Failure("the spectrum of the scores cannot be computed; " + advice_);
    }
    for (const analysis::Finding& finding : analysis::findings(report::facts_of(report::load_run(run_.path())))) {
      if (finding.severity != analysis::Severity::warning || !said_.insert(finding.title).second) continue;
      say(run_, progress_, "note: " + finding.title + ". " + finding.text + " " + finding.advice);
    }
  }

 private:
  TimeSeriesProblem& problem_;
  std::string advice_;
  RunDirectory& run_;
  Progress& progress_;
  std::set<std::string> said_;
};

// What is worth knowing before the first step.
void say_what_is_odd(const TimeSeriesConfig& config, const SeriesFacts& facts, RunDirectory& run, Progress& progress) {
  if (looks_at_times(config) && !facts.has_times.value_or(false)) {
    say(run, progress, "note: model.time is bochner, but the training file has no times: steps count as evenly spaced");
  }
  if (run.metric_bytes() > 0 && !train::latest_checkpoint(run.checkpoints())) {
    say(run, progress, "note: there is no checkpoint to go on from; the run starts anew");
  }
}

// The refit: all of TRAIN, as many epochs as the validation part chose, no evaluation on the way.
Outcome refit(const TimeSeriesConfig& config, int64_t epochs, TimeSeriesProblem& problem, RunDirectory& run,
              Progress& progress) {
  const fs::path folder = run.path() / "refit";
  RunDirectory inner = fs::exists(folder / "config.toml") ? RunDirectory::resume(folder)
                                                          : RunDirectory::create(folder, "# see ../config.toml\n");
  train::TrainOptions options = config.train;
  options.last_epoch = epochs;
  options.patience = 0;
  train::Trainer trainer(problem, options, config.optimizer, config.schedule, inner, progress);
  return trainer.run();
}

// RUN/best and data.json are what eval and predict read.
void keep_refitted(TimeSeriesProblem& problem, RunDirectory& run) {
  run.write("data.json", to_text(problem.data().facts));
  train::save_checkpoint(run.path(), "best", {train::tensors_of(problem.model()), {}, "{\"refit\": true}"});
}

RunResult result_of(const TimeSeriesConfig& config, const SeriesFacts& facts, const Outcome& outcome) {
  return {.preset = config.run.preset,
          .model = model_name(config),
          .data = facts.name,
          .protocol = config.run.protocol,
          .refit = config.run.refit,
          .kept_last = config.train.keep == train::Keep::last,
          .seed = config.train.seed,
          .epochs = outcome.epochs,
          .best_epoch = outcome.best.epoch,
          .measure = measure_of(facts),
          .validation_score = config.run.protocol == Protocol::honest ? outcome.best.evaluation.score : std::nan(""),
          .test = config.run.protocol == Protocol::paper ? std::optional(outcome.best.evaluation) : std::nullopt,
          .classes = facts.classes,
          .seconds = outcome.seconds,
          .tokens_per_second = static_cast<double>(outcome.tokens) / std::max(outcome.seconds, 1e-9),
          .threads = threads_of(config),
          .cpu = kernels::cpu_name()};
}

void finish(const TimeSeriesConfig& config, bool has_test, TimeSeriesProblem& problem, RunResult& result,
            RunDirectory& run) {
  problem.model().eval();
  if (config.run.protocol == Protocol::honest && config.run.test && has_test) {
    result.test = problem.evaluate(Part::test);
  }
  result.parameters = parameter_count(problem.model());
  result.peak_memory_mb = static_cast<double>(train::peak_memory()) / (1 << 20);
  analyse(problem, run);
  run.write("result.json", to_text(result));
}

}  // namespace

int64_t threads_of(const TimeSeriesConfig& config) {
  if (config.run.threads > 0) return config.run.threads;
  return std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, train::kMostThreads);
}

// With other training series it would train on what it held out before, and scale them otherwise. With another TEST the
// best epoch would be chosen among accuracies that cannot be compared.
void check_same_data(const fs::path& run, const SeriesFacts& facts) {
  const fs::path file = run / "data.json";
  if (!fs::exists(file)) return;
  const SeriesFacts before = read_series_facts(file);
  const auto check = [&](const char* which, const std::string& then, const std::string& now) {
    if (then.empty() || now.empty() || then == now) return;
    throw Error(file.string() + ": the " + which + " series of " + facts.name +
                " have changed since this run began; restore them, or start a new run");
  };
  check("training", before.fingerprint, facts.fingerprint);
  check("TEST", before.test_fingerprint, facts.test_fingerprint);
}

std::string seed_folder(int64_t seed) { return "seed-" + std::to_string(seed); }

TimeSeriesConfig read_config(const fs::path& run) {
  TimeSeriesConfig config;
  train::Settings settings;
  add_settings(settings, config);
  settings.read_file(run / "config.toml");
  check(config);
  return config;
}

RunOutcome run_time_series(const TimeSeriesConfig& config, const data::SearchPath& search, RunDirectory& run,
                           Progress& progress) {
  if (fs::exists(run.path() / "result.json")) return {false, read_result(run.path() / "result.json")};
  train::set_up_compute_threads(threads_of(config));
  train::reset_peak_memory();
  const SeriesData data(config, search);
  if (config.run.protocol == Protocol::paper && !data.has_test()) {
    throw Error("data.test_share: expected more than 0 with the paper protocol, which chooses by TEST, got 0");
  }
  TimeSeriesProblem problem = make_problem(config, data, config.run.protocol == Protocol::honest);
  check_same_data(run.path(), problem.data().facts);
  run.write("data.json", to_text(problem.data().facts));
  say(run, progress, describe(config, problem, parameter_count(problem.model())));
  say_what_is_odd(config, problem.data().facts, run, progress);

  Watch watch(problem, config.train.clip, run, progress);
  train::TrainOptions options = train_options(config);
  options.after_epoch = [&, every = std::max<int64_t>(options.epochs / kLooks, 1)](int64_t epoch) {
    if (epoch % every == 0 && epoch < options.epochs) watch.look();
  };
  train::Trainer trainer(problem, options, config.optimizer, config.schedule, run, progress);
  Outcome outcome = trainer.run();
  if (outcome.interrupted) return {true, {}};
  RunResult result = result_of(config, problem.data().facts, outcome);
  watch.look();
  if (!config.run.refit) {
    trainer.restore_best();
    finish(config, data.has_test(), problem, result, run);
    return {false, result};
  }
  say(run, progress, "refit on all of TRAIN for " + std::to_string(outcome.best.epoch) + " epochs");
  TimeSeriesProblem whole = make_problem(config, data, /*hold_out=*/false);
  const Outcome second = refit(config, outcome.best.epoch, whole, run, progress);
  if (second.interrupted) return {true, {}};
  result.seconds += second.seconds;
  keep_refitted(whole, run);
  finish(config, data.has_test(), whole, result, run);
  return {false, result};
}

}  // namespace primal::tasks
