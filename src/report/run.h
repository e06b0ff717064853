// A run directory as the report sees it: plain structs. docs/report.md describes the files.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings.h"
#include "report/config_text.h"
#include "train/evaluation.h"

namespace primal::report {

/// A figure that was not finite, or not written.
inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

struct EpochRecord {
  std::int64_t epoch = 0, step = 0;
  double loss = kNoNumber, task_loss = kNoNumber, ksvd = kNoNumber, score = kNoNumber;
  std::vector<double> objective;  ///< [primal layers], mean J
  double gradient_norm = kNoNumber, learning_rate = kNoNumber, seconds = kNoNumber, tokens_per_second = kNoNumber;
};

struct EvaluationRecord {
  std::string split;  ///< "validation" or "test"
  std::int64_t epoch = 0, step = 0;
  double loss = kNoNumber, score = kNoNumber;
  std::vector<double> objective;
  double seconds = kNoNumber;
};

/// metrics.jsonl. Steps rise within the epochs and within each split of the evaluations.
struct Metrics {
  std::vector<EpochRecord> epochs;
  std::vector<EvaluationRecord> evaluations;
  train::Measure measure = train::Measure::accuracy;  ///< of the scores
  std::string failure;                                ///< why the run gave up; empty if it did not

  std::vector<EvaluationRecord> split(const std::string& name) const;
};

struct TestResult {
  double score = kNoNumber, loss = kNoNumber;

  // Of classes.
  double macro_f1 = kNoNumber;
  std::vector<std::string> classes;
  std::vector<std::vector<std::int64_t>> confusion;  ///< [true class][predicted class]

  std::optional<train::TargetErrors> errors;  ///< of targets
};

/// result.json
struct Result {
  train::Measure measure = train::Measure::accuracy;
  std::string preset, model, data, protocol;
  bool kept_last = false;  ///< the last epoch, not the one that the validation part likes best
  bool refit = false;      ///< after the choice of the epoch trained anew on all of TRAIN
  std::int64_t seed = 0, epochs = 0;
  std::int64_t best_epoch = 0;  ///< 0 = none was chosen
  double validation_score = kNoNumber;
  TestResult test;
  double seconds = kNoNumber, tokens_per_second = kNoNumber, peak_memory_mb = kNoNumber;
  std::int64_t parameters = 0, threads = 0;
  std::string cpu;
};

struct Run {
  std::filesystem::path directory;  ///< as given, never empty
  std::string name;                 ///< last part of the directory
  Config config;
  Metrics metrics;
  std::optional<Result> result;              ///< none while the run is unfinished
  std::vector<analysis::LayerFacts> layers;  ///< analysis.json; empty if there is none
};

/// What the scores of the run are.
inline train::Measure measure_of(const Run& run) { return run.result ? run.result->measure : run.metrics.measure; }

/// Reads config.toml (must exist), metrics.jsonl, result.json and analysis.json. Throws primal::Error, one line that
/// names file and line.
Run load_run(const std::filesystem::path& directory);

/// What analysis::findings() wants to know of it.
analysis::RunFacts facts_of(const Run& run);

}  // namespace primal::report
