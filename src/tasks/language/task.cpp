#include "tasks/language/task.h"

#include <ATen/ATen.h>
#include <torch/utils.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/format.h"
#include "inference/writer.h"
#include "models/language_options_json.h"
#include "primal/error.h"
#include "run/text_details.h"
#include "tasks/csv.h"
#include "tasks/language/visible_text.h"

namespace primal::tasks {

namespace {

constexpr int64_t kSamples = 3;              // in the report
constexpr int64_t kExampleTokens = 4 * 512;  // of a choice that names no number
constexpr models::SamplingOptions kSampling{.temperature = 0.8, .top_p = 0.95};

struct TokenBlocks : train::Batch {
  using Batch::Batch;

  BlockBatch blocks;
};

std::vector<run::TextSample> samples_of(const models::LanguageModel& model, const data::TextCoder& coder,
                                        int64_t tokens) {
  models::Generator generator(model, kSamples, kSampling, inference::never_written(coder, *model));
  const std::vector<int64_t> start{coder.end()};
  generator.read(start);
  std::vector<run::TextSample> samples;
  const std::vector<inference::SamplePlace> places(kSamples, {.last = coder.end()});
  inference::TextWriter writer(generator, coder, places, {.tokens = tokens});
  for (std::string& text : inference::write_text(writer).texts) {
    samples.push_back({.prompt = "", .text = std::move(text)});
  }
  return samples;
}

}  // namespace

LanguageTask::LanguageTask(const LanguageConfig& config, const Opening& opening) : config_(config), opening_(opening) {
  if (opening.facts) {
    facts_ = read_language_facts(*opening.facts);
  } else {
    data_ = std::make_unique<LanguageData>(config_, opening_);
    facts_ = {.name = data_->name(), .coder = data_->coder(), .fingerprint = data_->fingerprint()};
    if (config_.run.test || config_.run.protocol == Protocol::paper) {
      facts_.test_fingerprint = data_->test_fingerprint();
    }
    blocks_ = training_blocks(data_->part(Part::train), config_.data.block, config_.data.breaks);
    torch::manual_seed(static_cast<uint64_t>(config_.train.seed));
  }
  const int64_t ids = coder().size();
  model_ = models::LanguageModel(model_options(config_, std::max(ids, padding().value_or(-1) + 1), padding()));
}

// Blocks of one length have no need of any.
std::optional<int64_t> LanguageTask::padding() const {
  if (const auto id = coder().padding()) return *id;
  return config_.data.breaks == Breaks::document ? std::optional(coder().size()) : std::nullopt;
}

LanguageData& LanguageTask::data() {
  if (data_) return *data_;
  auto read = std::make_unique<LanguageData>(config_, opening_, facts_.coder);
  if (!is_of_same_data(facts_.fingerprint, read->fingerprint())) fail_changed();
  data_ = std::move(read);
  return *data_;
}

void LanguageTask::fail_changed() const {
  throw Error(opening_.facts->string() + ": the texts of " + facts_.name +
              " have changed since this run began; restore them, or give a file");
}

const data::TokenStream& LanguageTask::part(Part part) {
  if (part == Part::test && !is_of_same_data(facts_.test_fingerprint, data().test_fingerprint())) fail_changed();
  return data().part(part);
}

nlohmann::json LanguageTask::facts() const {
  nlohmann::json facts = to_json(facts_);
  facts["model"] = models::to_json(model_->options());
  return facts;
}

std::unique_ptr<train::Batch> LanguageTask::batch(std::vector<int64_t> examples, base::Random /*random*/) const {
  auto result = std::make_unique<TokenBlocks>(std::move(examples));
  std::vector<Window> windows;
  for (const int64_t example : result->examples) windows.push_back(blocks_[static_cast<size_t>(example)]);
  result->blocks = batch_of(data_->part(Part::train), windows, coder().end(), padding());
  result->weight = result->blocks.tokens;
  return result;
}

train::BatchLoss LanguageTask::loss(train::Batch& batch) {
  const BlockBatch& blocks = static_cast<TokenBlocks&>(batch).blocks;
  const auto tokens = static_cast<double>(blocks.tokens);
  const KsvdListener heard(config_.loss);
  const auto [features, terms] = model_->forward(blocks.ids);
  const models::LanguageLoss loss = model_->loss(features, blocks.targets, config_.loss.label_smoothing);
  const torch::Tensor mean = loss.sum / tokens;
  train::BatchLoss result{.total = mean, .task = mean.item<double>(), .objective = {}, .tokens = blocks.tokens};
  if (metric().key == "bits_per_byte") result.score = loss.nll.sum().item<double>() / std::numbers::ln2;
  KsvdOptions ksvd = config_.loss;
  if (config_.loss.eta_per_token) ksvd.eta /= tokens;
  add_ksvd(result, terms, ksvd, heard);
  return result;
}

ScoringOptions LanguageTask::scoring(int64_t context) const {
  return {.block = config_.data.block, .context = context, .breaks = config_.data.breaks, .padding = padding()};
}

Evaluation LanguageTask::evaluate(const data::TokenStream& text, int64_t context, bool in_detail) {
  const TextScores scores = score_text(*model_, text, coder(), scoring(context));
  Evaluation evaluation = evaluation_of(scores, text, coder());
  if (!in_detail) return evaluation;
  put_details(evaluation, scores, text, coder());
  if (config_.eval.sample_tokens > 0) {
    run::TextDetails written = run::text_details(evaluation);
    written.samples = samples_of(model_, coder(), config_.eval.sample_tokens);
    put(evaluation, written);
  }
  return evaluation;
}

// As the published runs do it: blocks while training, a context for every token in the end.
Evaluation LanguageTask::evaluate(Part part) {
  const bool is_test = part == Part::test;
  return evaluate(this->part(part), is_test ? config_.eval.context : 0, is_test);
}

Evaluation LanguageTask::evaluate_file(const std::filesystem::path& file) {
  return evaluate(chosen({.file = file}), config_.eval.context, /*in_detail=*/true);
}

bool LanguageTask::has(Part /*part*/) const { return true; }

std::string LanguageTask::description() const {
  const auto count = [&](Part part) { return base::printed("%ld", data_->part(part).size()); };
  return facts_.name + ": " + count(Part::train) + " training tokens (" + std::string(coder().unit()) + "), " +
         count(Part::validation) + " for validation" +
         (facts_.test_fingerprint.empty() ? "" : ", " + count(Part::test) + " for TEST") + "; " +
         std::to_string(coder().size()) + " ids, blocks of " + std::to_string(config_.data.block);
}

std::vector<std::string> LanguageTask::notes() const { return data_ ? data_->notes() : std::vector<std::string>{}; }

const data::TokenStream& LanguageTask::chosen(const DataChoice& choice) {
  if (!choice.file) return part(choice.part);
  const auto found = files_.find(choice.file->string());
  if (found != files_.end()) return found->second;
  return files_.emplace(choice.file->string(), encoded_file(*choice.file, coder())).first->second;
}

std::vector<Window> LanguageTask::windows_of(const DataChoice& choice) {
  const std::vector<Window> all = scoring_windows(chosen(choice), config_.data.block, 0, config_.data.breaks);
  const int64_t most = choice.tokens > 0 ? choice.tokens : choice.examples > 0 ? all.back().end : kExampleTokens;
  std::vector<Window> windows;
  int64_t tokens = 0;
  for (const int64_t i : order_of(choice, std::ssize(all))) {
    const Window& window = all[static_cast<size_t>(i)];
    tokens += window.size();
    if (!windows.empty() && tokens > most) break;
    windows.push_back(window);
  }
  return windows;
}

std::string LanguageTask::describe(const DataChoice& choice) {
  constexpr const char* kNames[] = {" TRAIN", " validation part", " TEST"};
  const std::string name = choice.file ? choice.file->string() : facts_.name + kNames[static_cast<size_t>(choice.part)];
  const int64_t all = chosen(choice).size();
  if (choice.examples == 0 && choice.tokens == 0) return name + base::printed(", %ld tokens", all);
  const auto windows = windows_of(choice);
  return name + base::printed(", %zu blocks of its %ld tokens", windows.size(), all);
}

void LanguageTask::forward(const DataChoice& choice) {
  const torch::NoGradGuard no_grad;
  for (const Window& window : windows_of(choice)) {
    model_->forward(batch_of(chosen(choice), std::span(&window, 1), coder().end(), padding()).ids);
  }
}

std::vector<std::string> LanguageTask::predict(const PredictRequest& request, const LineWriter& write) {
  const data::TokenStream text = encoded_file(request.input, coder());
  const TextScores scores = score_text(*model_, text, coder(), scoring(config_.eval.context));
  write("token,text,surprise\n");
  std::optional<int32_t> before;
  for (int64_t i = 0; i < text.size(); ++i) {
    write(std::to_string(i + 1) + "," + csv_field(visible_text(coder().text_of(text.id(i), before))) +
          base::printed(",%.5f\n", static_cast<double>(scores.nll[static_cast<size_t>(i)])));
    before = text.id(i);
  }
  return {};
}

}  // namespace primal::tasks
