#include "run/metrics.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_fields.h"

namespace primal::run {

namespace {

using Json = nlohmann::json;

double epoch_of(const base::Fields& line) {
  const double epoch = line.number("epoch");
  if (!(epoch >= 0)) line.fail("epoch", "expected a number from 0, got " + std::to_string(epoch));
  return epoch;
}

TrainRecord train_record(const base::Fields& line, const Metric& metric) {
  TrainRecord record;
  record.epoch = epoch_of(line);
  record.step = line.whole("step");
  record.loss = line.number("loss");
  record.task_loss = line.number("task_loss");
  record.ksvd = line.number_if_any("ksvd");
  record.score = line.number_if_any(metric.key.c_str());
  record.objective = line.numbers_if_any("objective");
  record.gradient_norm = line.number_if_any("gradient_norm");
  record.learning_rate = line.number_if_any("learning_rate");
  record.seconds = line.number_if_any("seconds");
  record.tokens_per_second = line.number_if_any("tokens_per_second");
  return record;
}

EvaluationRecord evaluation_record(const base::Fields& line, const Metric& metric) {
  EvaluationRecord record;
  record.split = line.text("split");
  if (record.split != "validation" && record.split != "test") {
    line.fail("split", "expected \"validation\" or \"test\"");
  }
  record.epoch = epoch_of(line);
  record.step = line.whole("step");
  record.loss = line.number_if_any("loss");
  record.score = line.number_if_any(metric.key.c_str());
  record.objective = line.numbers_if_any("objective");
  record.seconds = line.number_if_any("seconds");
  return record;
}

// A resumed run begins again at its checkpoint: what was written of later steps before the crash is void.
void forget_from(Metrics& metrics, int64_t step) {
  std::erase_if(metrics.training, [step](const auto& record) { return record.step >= step; });
  std::erase_if(metrics.evaluations, [step](const auto& record) { return record.step >= step; });
}

void add_line(Metrics& metrics, std::string_view line, const std::string& where) {
  const Json object = base::parse_object(line, where);
  const base::Fields fields(object, where);
  const std::string kind = fields.text("kind");
  // Files of older runs do not begin with their metric.
  if (object.contains(r2_metric().key) && metrics.metric == accuracy_metric()) metrics.metric = r2_metric();
  if (kind == "metric") {
    metrics.metric = metric_from(object, where);
  } else if (kind == "train" || kind == "epoch") {  // "epoch": of older runs
    TrainRecord record = train_record(fields, metrics.metric);
    if (!metrics.training.empty() && record.step <= metrics.training.back().step) forget_from(metrics, record.step);
    metrics.training.push_back(std::move(record));
  } else if (kind == "evaluation") {
    EvaluationRecord record = evaluation_record(fields, metrics.metric);
    const auto voids = [&](const auto& old) { return old.split == record.split && old.step >= record.step; };
    if (!metrics.evaluations.empty() && metrics.evaluations.back().step >= record.step) {
      std::erase_if(metrics.evaluations, voids);
    }
    metrics.evaluations.push_back(std::move(record));
  } else if (kind == "failure") {
    metrics.failure = fields.text("reason");
  }
}

}  // namespace

Json whole_if_it_is(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::abs(value) < kExact && value == std::floor(value)) return static_cast<int64_t>(value);
  return value;
}

Json metric_line(const Metric& metric) {
  Json json = metric;
  json["kind"] = "metric";
  return json;
}

Json to_json(const TrainRecord& record, const Metric& metric) {
  return {{"kind", "train"},
          {"step", record.step},
          {"epoch", whole_if_it_is(record.epoch)},
          {"loss", record.loss},
          {"task_loss", record.task_loss},
          {"ksvd", record.ksvd},
          {metric.key, record.score},
          {"objective", record.objective},
          {"gradient_norm", record.gradient_norm},
          {"learning_rate", record.learning_rate},
          {"seconds", record.seconds},
          {"tokens_per_second", record.tokens_per_second}};
}

Json to_json(const EvaluationRecord& record, const Metric& metric) {
  return {{"kind", "evaluation"},          {"split", record.split},
          {"step", record.step},           {"epoch", whole_if_it_is(record.epoch)},
          {"loss", record.loss},           {metric.key, record.score},
          {"objective", record.objective}, {"seconds", record.seconds}};
}

Json failure_line(const std::string& reason) { return {{"kind", "failure"}, {"reason", reason}}; }

std::vector<EvaluationRecord> Metrics::split(const std::string& name) const {
  std::vector<EvaluationRecord> chosen;
  for (const EvaluationRecord& record : evaluations) {
    if (record.split == name) chosen.push_back(record);
  }
  return chosen;
}

Metrics parse_metrics(std::string_view text, const std::string& file) {
  Metrics metrics;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool is_last = end == text.size();
    text.remove_prefix(is_last ? end : end + 1);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (is_last && !Json::accept(line)) break;
    add_line(metrics, line, file + ":" + std::to_string(number));
  }
  return metrics;
}

}  // namespace primal::run
