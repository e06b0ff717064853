#include "tasks/time_series/predict.h"

#include <ATen/ATen.h>

#include <charconv>
#include <numeric>

#include "data/series/series_reader.h"
#include "tasks/time_series/problem.h"
#include "base/format.h"

namespace primal::tasks {

namespace {

// Quoted as RFC 4180 asks for, when needed.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string head(const SeriesFacts& facts) {
  std::string line = "series,predicted";
  for (const std::string& name : facts.classes) line += "," + csv_field("p(" + name + ")");
  return line + "\n";
}

void append_share(std::string& line, float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 6).ptr;
  line.append(text, end);
}

void append_series(data::TimeSeriesSet& set, data::Series& series) {
  set.ids.push_back(series.id);
  set.values.insert(set.values.end(), series.values.begin(), series.values.end());
  set.times.insert(set.times.end(), series.times.begin(), series.times.end());
  set.offsets.push_back(set.offsets.back() + series.length);
}

std::string class_lines(const SeriesFacts& facts, const data::TimeSeriesSet& set, const torch::Tensor& outputs) {
  const torch::Tensor shares = outputs.softmax(1).contiguous();
  const torch::Tensor predicted = shares.argmax(1);
  std::string lines;
  for (int64_t i = 0; i < set.cases(); ++i) {
    lines += csv_field(set.ids[i]) + "," + csv_field(facts.classes[predicted.data_ptr<int64_t>()[i]]);
    for (int64_t c = 0; c < shares.size(1); ++c) {
      lines += ',';
      append_share(lines, shares.data_ptr<float>()[i * shares.size(1) + c]);
    }
    lines += '\n';
  }
  return lines;
}

std::string target_lines(const SeriesFacts& facts, const data::TimeSeriesSet& set, const torch::Tensor& outputs) {
  const std::vector<double> targets = targets_from(outputs, *facts.target);
  std::string lines;
  constexpr int kDigits = 10;  // small differences of large numbers count
  for (int64_t i = 0; i < set.cases(); ++i) {
    lines += csv_field(set.ids[i]) + ',' + base::format_digits(targets[i], kDigits) + '\n';
  }
  return lines;
}

std::string lines_for(TrainedModel& trained, data::TimeSeriesSet& set, const std::string& file) {
  data::interpolate_missing(set);
  apply(trained.facts, set, file);
  std::vector<int64_t> cases(static_cast<size_t>(set.cases()));
  std::iota(cases.begin(), cases.end(), 0);
  const auto& options = trained.model->options();
  const models::SeriesBatch batch = batch_of(set, cases, options.tokens, options.pooling == models::Pooling::flatten);
  const torch::Tensor outputs = trained.model->forward(batch).logits;
  return trained.facts.target ? target_lines(trained.facts, set, outputs) : class_lines(trained.facts, set, outputs);
}

}  // namespace

PredictSummary predict(TrainedModel& trained, const std::filesystem::path& input, int64_t batch,
                       const std::function<void(std::string_view)>& write) {
  torch::NoGradGuard no_grad;
  PredictSummary summary;
  const auto reader = data::open_series(input, {.labels_optional = true});
  data::Series series;
  data::TimeSeriesSet waiting;
  bool is_headed = false;
  const std::string file = input == "-" ? "standard input" : input.string();
  const auto flush = [&] {
    if (waiting.cases() > 0) {
      align_channels(trained.facts, waiting, file);
      if (looks_at_times(trained.config)) check_times(trained.facts, !waiting.times.empty(), file);
      const std::string lines = lines_for(trained, waiting, file);
      if (!is_headed) write(head(trained.facts));  // not before the file has proved to fit
      is_headed = true;
      write(lines);
    }
    waiting = {};
  };
  while (reader->next(series)) {
    waiting.channels = reader->channels();
    waiting.channel_names = reader->channel_names();
    append_series(waiting, series);
    ++summary.series;
    summary.cut += series.length > trained.facts.tokens;
    if (waiting.cases() >= batch) flush();
  }
  flush();
  return summary;
}

}  // namespace primal::tasks
