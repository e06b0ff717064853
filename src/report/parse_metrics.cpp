#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/json_fields.h"
#include "report/parse_run.h"

namespace primal::report {
namespace {

EpochRecord epoch_record(const Fields& line, train::Measure measure) {
  EpochRecord record;
  record.epoch = line.whole("epoch");
  record.step = line.whole("step");
  record.loss = line.number("loss");
  record.task_loss = line.number("task_loss");
  record.ksvd = line.number_if_any("ksvd");
  record.score = line.number_if_any(train::key_of(measure));
  record.objective = line.numbers_if_any("objective");
  record.gradient_norm = line.number_if_any("gradient_norm");
  record.learning_rate = line.number_if_any("learning_rate");
  record.seconds = line.number_if_any("seconds");
  record.tokens_per_second = line.number_if_any("tokens_per_second");
  return record;
}

EvaluationRecord evaluation_record(const Fields& line, train::Measure measure) {
  EvaluationRecord record;
  record.split = line.text("split");
  if (record.split != "validation" && record.split != "test") {
    line.fail("split", "expected \"validation\" or \"test\"");
  }
  record.epoch = line.whole("epoch");
  record.step = line.whole("step");
  record.loss = line.number("loss");
  record.score = line.number_if_any(train::key_of(measure));
  record.objective = line.numbers_if_any("objective");
  record.seconds = line.number_if_any("seconds");
  return record;
}

/// A resumed run begins again at its checkpoint: what was written of later steps before the crash is void.
void forget_from(Metrics& metrics, std::int64_t step) {
  std::erase_if(metrics.epochs, [step](const auto& record) { return record.step >= step; });
  std::erase_if(metrics.evaluations, [step](const auto& record) { return record.step >= step; });
}

void add_line(Metrics& metrics, std::string_view line, const std::string& where) {
  const nlohmann::json object = parse_object(line, where);
  const Fields fields(object, where);
  const std::string kind = fields.text("kind");
  if (object.contains(train::key_of(train::Measure::r2))) metrics.measure = train::Measure::r2;
  if (kind == "epoch") {
    EpochRecord record = epoch_record(fields, metrics.measure);
    if (!metrics.epochs.empty() && record.step <= metrics.epochs.back().step) forget_from(metrics, record.step);
    metrics.epochs.push_back(std::move(record));
  } else if (kind == "evaluation") {
    EvaluationRecord record = evaluation_record(fields, metrics.measure);
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

std::vector<EvaluationRecord> Metrics::split(const std::string& name) const {
  std::vector<EvaluationRecord> chosen;
  for (const EvaluationRecord& record : evaluations) {
    if (record.split == name) chosen.push_back(record);
  }
  return chosen;
}

Metrics parse_metrics(std::string_view text, const std::string& file) {
  Metrics metrics;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool is_last = end == text.size();
    text.remove_prefix(is_last ? end : end + 1);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (is_last && !nlohmann::json::accept(line)) break;
    add_line(metrics, line, file + ":" + std::to_string(number));
  }
  return metrics;
}

}  // namespace primal::report
