#include "tasks/time_series/task.h"

#include <ATen/ATen.h>
#include <torch/utils.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "primal/error.h"
#include "tasks/ksvd.h"
#include "tasks/time_series/augment.h"
#include "tasks/time_series/batches.h"
#include "tasks/time_series/data_notes.h"
#include "tasks/time_series/predict.h"

namespace primal::tasks {

namespace {

struct SeriesInputs : train::Batch {
  using Batch::Batch;

  models::SeriesBatch batch;
  torch::Tensor right;  // [B]
};

void check_loss(const TimeSeriesConfig& config, const SeriesFacts& facts) {
  if (!facts.target) return;
  const auto belongs = [&](const char* key, const char* expected, const auto& value) {
    throw Error(
        c10::str(key, ": belongs to classes, but ", facts.name, " has targets; expected ", expected, ", got ", value));
  };
  const bool asked_for = std::ranges::count(config.asked_for, "loss.label_smoothing") > 0;
  if (config.loss.label_smoothing > 0 && asked_for) belongs("loss.label_smoothing", "0", config.loss.label_smoothing);
  if (config.loss.class_weights.word != "none") belongs("loss.class_weights", "none", "weights");
}

}  // namespace

TimeSeriesTask::TimeSeriesTask(const TimeSeriesConfig& config, const Opening& opening)
    : TimeSeriesTask(config, opening, std::nullopt) {}

TimeSeriesTask::TimeSeriesTask(const TimeSeriesConfig& config, const Opening& opening, std::optional<SeriesData> source)
    : config_(config), opening_(opening), source_(std::move(source)) {
  if (opening.facts) {
    facts_ = read_series_facts(*opening.facts);
  } else {
    if (config.run.protocol == Protocol::paper && !this->source().has_test()) {
      throw Error("data.test_share: expected more than 0 with the paper protocol, which chooses by TEST, got 0");
    }
    data_ = this->source().load_training(opening.hold_out);
    facts_ = data_->facts;
    check_loss(config, facts_);
    if (!facts_.target) {
      class_weights_ = class_weights(config.loss.class_weights, data_->train.labels, std::ssize(facts_.classes));
    }
    torch::manual_seed(static_cast<uint64_t>(config.train.seed));
  }
  model_ = models::SequenceClassifier(model_options(config, facts_.channels, facts_.outputs(), facts_.tokens));
}

SeriesData& TimeSeriesTask::source() {
  if (!source_) source_.emplace(config_, opening_.search);
  return *source_;
}

const data::TimeSeriesSet& TimeSeriesTask::part(Part part) {
  if (!data_ && part != Part::test) {
    data_ = source().load_training(opening_.hold_out, /*with_test=*/false);
    if (!is_of_same_data(facts_.fingerprint, data_->facts.fingerprint)) {
      data_.reset();
      throw Error(opening_.facts->string() + ": the training series of " + facts_.name +
                  " have changed since this run began; restore them, or give a file");
    }
  }
  if (part == Part::train) return data_->train;
  if (part == Part::validation) {
    if (data_->validation.cases() == 0) throw Error("this run has held out no validation part");
    return data_->validation;
  }
  if (data_ && data_->test) return *data_->test;
  const auto [found, is_new] = files_.try_emplace("");
  if (is_new) found->second = source().load_test(facts_);
  return found->second;
}

const data::TimeSeriesSet& TimeSeriesTask::chosen(const DataChoice& choice, bool with_answers) {
  if (!choice.file) return part(choice.part);
  const auto [found, is_new] = files_.try_emplace(choice.file->string());
  const auto load = with_answers ? load_labelled : load_unlabelled;
  if (is_new) found->second = load(*choice.file, facts_, looks_at_times(config_));
  return found->second;
}

models::SeriesBatch TimeSeriesTask::batch_from(const data::TimeSeriesSet& set, std::span<const int64_t> cases) const {
  return batch_of(set, cases, facts_.tokens, is_padded_full());
}

std::unique_ptr<train::Batch> TimeSeriesTask::batch(std::vector<int64_t> examples, base::Random random) const {
  auto result = std::make_unique<SeriesInputs>(std::move(examples));
  result->batch = batch_from(data_->train, result->examples);
  result->right = right_answers(data_->train, result->examples, facts_);
  augment(result->batch, lengths_of(data_->train, result->examples, facts_.tokens), config_.augment, random);
  return result;
}

train::BatchLoss TimeSeriesTask::loss(train::Batch& batch) {
  auto& series = static_cast<SeriesInputs&>(batch);
  const KsvdListener heard(config_.loss);
  const auto [outputs, terms] = model_->forward(series.batch);
  const auto [task, score] =
      judge(outputs, series.right, facts_, {.smoothing = config_.loss.label_smoothing, .weights = class_weights_});
  train::BatchLoss result{.total = task,
                          .task = task.item<double>(),
                          .objective = {},
                          .score = score,
                          .tokens = series.batch.padding.numel()};
  add_ksvd(result, terms, config_.loss, heard);
  return result;
}

Evaluation TimeSeriesTask::evaluate(Part which) { return evaluate(part(which)); }

Evaluation TimeSeriesTask::evaluate_file(const std::filesystem::path& file) {
  return evaluate(chosen({.file = file}, /*with_answers=*/true));
}

Evaluation TimeSeriesTask::evaluate(const data::TimeSeriesSet& set) {
  Examiner examiner(set, facts_);
  in_batches(set, order_of({}, set.cases()), [&](auto cases, const auto& answer) { examiner.add(cases, answer); });
  return examiner.result();
}

std::vector<int64_t> TimeSeriesTask::cases_of(const data::TimeSeriesSet& set, const DataChoice& choice) const {
  std::vector<int64_t> cases = order_of(choice, set.cases());
  if (choice.tokens == 0) return cases;
  int64_t tokens = 0;
  const auto is_over = [&](int64_t i) { return (tokens += tokens_of(set, i)) > choice.tokens; };
  const auto first_over = std::ranges::find_if(cases, is_over);
  cases.erase(std::max(first_over, std::min(cases.begin() + 1, cases.end())), cases.end());
  return cases;
}

void TimeSeriesTask::in_batches(const data::TimeSeriesSet& set, std::span<const int64_t> cases,
                                const AnswerTaker& take) {
  const auto step = static_cast<size_t>(evaluation_batch(facts_.tokens));
  for (size_t first = 0; first < cases.size(); first += step) {
    const std::span<const int64_t> some = cases.subspan(first, std::min(step, cases.size() - first));
    take(some, model_->forward(batch_from(set, some)));
  }
}

void TimeSeriesTask::forward(const DataChoice& choice) {
  const data::TimeSeriesSet& set = chosen(choice, /*with_answers=*/false);
  in_batches(set, cases_of(set, choice), [](auto, const auto&) {});
}

nlohmann::json TimeSeriesTask::facts() const { return to_json(facts_); }

bool TimeSeriesTask::has(Part part) const {
  if (part == Part::test) return !source_ || source_->has_test();
  return !data_ || part == Part::train || data_->validation.cases() > 0;
}

std::string TimeSeriesTask::description() const {
  std::string text = facts_.name + ": " + std::to_string(data_->train.cases()) + " training series";
  if (data_->validation.cases() > 0) text += ", " + std::to_string(data_->validation.cases()) + " for validation";
  return text + ", " + std::to_string(facts_.channels) + " channels, up to " + std::to_string(facts_.tokens) +
         " steps, " + (facts_.target ? "a target" : std::to_string(facts_.classes.size()) + " classes");
}

std::vector<std::string> TimeSeriesTask::notes() const {
  std::vector<std::string> notes = data_->notes;
  if (looks_at_times(config_) && !facts_.has_times.value_or(false)) {
    notes.emplace_back("model.time is bochner, but the training file has no times: steps count as evenly spaced");
  }
  if (const auto note = cut_note(data_->validation, facts_.tokens, "validation series")) notes.push_back(*note);
  if (data_->test) {
    if (const auto note = cut_note(*data_->test, facts_.tokens, "TEST series")) notes.push_back(*note);
  }
  return notes;
}

std::unique_ptr<Task> TimeSeriesTask::whole() {
  Opening opening = opening_;
  opening.hold_out = false;
  return std::unique_ptr<Task>(new TimeSeriesTask(config_, opening, source()));
}

std::vector<std::string> TimeSeriesTask::notes(const DataChoice& choice) {
  const bool is_test = !choice.file && choice.part == Part::test;
  const auto cut = cut_note(chosen(choice, /*with_answers=*/true), facts_.tokens, is_test ? "TEST series" : "series");
  std::vector<std::string> notes = source_ && is_test ? source_->notes() : std::vector<std::string>{};
  if (cut) notes.push_back(*cut);
  return notes;
}

std::string TimeSeriesTask::describe(const DataChoice& choice) {
  const data::TimeSeriesSet& set = chosen(choice, /*with_answers=*/false);
  constexpr const char* kNames[] = {" TRAIN", " validation part", " TEST"};
  const std::string name = choice.file ? choice.file->string() : facts_.name + kNames[static_cast<size_t>(choice.part)];
  const size_t count = cases_of(set, choice).size();
  const bool is_fewer = count < order_of(choice, set.cases()).size();
  return name + ", " + std::to_string(count) + " series" + (is_fewer ? " (no more, because they are long)" : "");
}

std::vector<std::string> TimeSeriesTask::predict(const PredictRequest& request, const LineWriter& write) {
  return predict_series(*model_, facts_, looks_at_times(config_), request, write);
}

}  // namespace primal::tasks
