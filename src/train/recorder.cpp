#include "train/recorder.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace primal::train {

namespace {

run::EventFileOptions event_options(int64_t step) {
  run::EventFileOptions options;
  // Without a checkpoint too: a run killed before its first one has left events.
  options.purge_step = step > 0 ? step + 1 : 0;
  return options;
}

}  // namespace

Recorder::Recorder(run::RunDirectory& run, Metric metric, int64_t step)
    : run_(run), metric_(std::move(metric)), events_(run.path(), event_options(step)) {}

void Recorder::write(const nlohmann::json& line) {
  if (run_.metric_bytes() == 0) run_.metric(run::metric_line(metric_));
  run_.metric(line);
}

void Recorder::training(const RecordSums& sums, int64_t step, double epoch, double learning_rate) {
  const double weight = static_cast<double>(sums.weight);
  run::TrainRecord record{.step = step,
                          .epoch = epoch,
                          .loss = sums.loss / weight,
                          .task_loss = sums.task / weight,
                          .ksvd = sums.ksvd / weight,
                          .score = sums.score / weight,
                          .objective = sums.objective,
                          .gradient_norm = sums.gradient_norm / static_cast<double>(sums.steps),
                          .learning_rate = learning_rate,
                          .seconds = sums.seconds,
                          .tokens_per_second = static_cast<double>(sums.tokens) / sums.seconds};
  for (double& value : record.objective) value /= weight;
  write(to_json(record, metric_));
  events_.scalar("train/loss", record.task_loss, step);
  events_.scalar("train/ksvd", record.ksvd, step);
  if (!std::isnan(record.score)) events_.scalar("train/" + metric_.key, record.score, step);
  events_.scalar("train/learning_rate", learning_rate, step);
  events_.scalar("train/epoch", epoch, step);
  for (size_t i = 0; i < record.objective.size(); ++i) {
    events_.scalar("train/J of layer " + std::to_string(i + 1), record.objective[i], step);
  }
}

void Recorder::evaluation(const Evaluation& evaluation, const std::string& split, int64_t step, double epoch,
                          double seconds) {
  write(to_json(run::EvaluationRecord{.split = split,
                                      .step = step,
                                      .epoch = epoch,
                                      .loss = evaluation.loss.value_or(run::kNoNumber),
                                      .score = evaluation.score,
                                      .objective = evaluation.objective,
                                      .seconds = seconds},
                metric_));
  if (evaluation.loss) events_.scalar(split + "/loss", *evaluation.loss, step);
  events_.scalar(split + "/" + metric_.key, evaluation.score, step);
  for (const auto& [name, value] : evaluation.also) events_.scalar(split + "/" + name, value, step);
}

}  // namespace primal::train
