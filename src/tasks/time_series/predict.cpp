#include "tasks/time_series/predict.h"

#include <ATen/ATen.h>

#include <charconv>
#include <numeric>

#include "base/format.h"
#include "data/series/series_reader.h"
#include "tasks/csv.h"
#include "tasks/time_series/answers.h"
#include "tasks/time_series/batches.h"
#include "tasks/time_series/data_notes.h"

namespace primal::tasks {

namespace {

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

void append_series(data::TimeSeriesSet& set, const data::Series& series, bool with_remainders) {
  set.ids.push_back(series.id);
  if (with_remainders) set.remainders.insert(set.remainders.end(), series.remainders.begin(), series.remainders.end());
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

std::string lines_for(models::SequenceClassifierImpl& model, const SeriesFacts& facts, data::TimeSeriesSet& set,
                      const std::string& file) {
  data::interpolate_missing(set);
  apply(facts, set, file);
  std::vector<int64_t> cases(static_cast<size_t>(set.cases()));
  std::iota(cases.begin(), cases.end(), 0);
  const auto& options = model.options();
  const models::SeriesBatch batch = batch_of(set, cases, options.tokens, options.pooling == models::Pooling::flatten);
  const torch::Tensor outputs = model.forward(batch).outputs;
  return facts.target ? target_lines(facts, set, outputs) : class_lines(facts, set, outputs);
}

}  // namespace

std::vector<std::string> predict_series(models::SequenceClassifierImpl& model, const SeriesFacts& facts, bool times,
                                        const PredictRequest& request, const LineWriter& write) {
  torch::NoGradGuard no_grad;
  const bool is_stream = request.input == "-";
  const int64_t batch = request.batch > 0 ? request.batch : is_stream ? 1 : evaluation_batch(facts.tokens);
  const auto reader = data::open_series(request.input, {.labels_optional = true});
  data::Series series;
  data::TimeSeriesSet waiting;
  bool is_headed = false;
  int64_t count = 0, cut = 0;  // cut: longer than the longest training series
  const std::string file = is_stream ? "standard input" : request.input.string();
  const auto flush = [&] {
    if (waiting.cases() > 0) {
      align_channels(facts, waiting, file);
      if (times) check_times(facts, !waiting.times.empty(), file);
      const std::string lines = lines_for(model, facts, waiting, file);
      if (!is_headed) write(head(facts));  // not before the file has proved to fit
      is_headed = true;
      write(lines);
    }
    waiting = {};
  };
  while (reader->next(series)) {
    waiting.channels = reader->channels();
    waiting.channel_names = reader->channel_names();
    append_series(waiting, series, !facts.scaling.precise.empty());
    ++count;
    cut += series.length > facts.tokens;
    if (waiting.cases() >= batch) flush();
  }
  flush();
  const auto note = cut_note(cut, count, facts.tokens, "series");
  return note ? std::vector{*note} : std::vector<std::string>();
}

}  // namespace primal::tasks
