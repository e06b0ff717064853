#include "tasks/lra/task.h"

#include <ATen/ATen.h>
#include <torch/utils.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/format.h"
#include "primal/error.h"
#include "tasks/ksvd.h"
#include "tasks/lra/examiner.h"
#include "tasks/lra/predict.h"

namespace primal::tasks {

namespace {

struct TokenInputs : train::Batch {
  using Batch::Batch;

  models::TokenBatch batch;
  torch::Tensor right;  // [B]
};

// The published position tables are as long as the next power of two.
int64_t positions_for(int64_t tokens) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(tokens))); }

TokenCoding coding_of(const LraConfig& config, const LraSource& source, int64_t tokens) {
  const bool masks_black = source.is_image && config.data.black == Black::padding;
  return {.first_id = masks_black ? 0 : 1,
          .padded_to = config.data.padded_to == PaddedTo::full ? positions_for(tokens) : 0,
          .zero_is_padding = masks_black};
}

}  // namespace

LraTask::LraTask(const LraConfig& config, const Opening& opening)
    : config_(config), opening_(opening), source_(lra_source(config.data.task)) {
  if (opening.facts) {
    facts_ = read_lra_facts(*opening.facts);
  } else {
    parts();  // and their facts, from before a part is held out
    torch::manual_seed(static_cast<uint64_t>(config.train.seed));
  }
  make_model();
}

LraTask::LraTask(const LraConfig& config, const Opening& opening, TokenParts parts, LraFacts facts)
    : config_(config),
      opening_(opening),
      source_(lra_source(config.data.task)),
      parts_(std::move(parts)),
      facts_(std::move(facts)) {
  torch::manual_seed(static_cast<uint64_t>(config.train.seed));
  make_model();
}

void LraTask::make_model() {
  coding_ = coding_of(config_, source_, facts_.tokens);
  const int64_t positions = positions_for(facts_.tokens), ids = source_.symbols + coding_.first_id;
  const LraModelOptions& model = config_.model;
  model_ = models::TokenClassifier(
      models::TokenClassifierOptions{.vocabulary = model.vocabulary > 0 ? model.vocabulary : ids,
                                     .outputs = std::ssize(facts_.classes),
                                     .tokens = positions,
                                     .hidden = model.hidden,
                                     .pairs = facts_.per_example == 2,
                                     .dropout = model.dropout,
                                     .pooling = model.pooling,
                                     .layers = layer_options(model, positions)});
}

TokenParts& LraTask::parts() {
  if (parts_) return *parts_;
  TokenParts read = load_lra(config_, opening_);
  if (opening_.facts) {
    const LraFacts now = facts_of(config_, read);
    if (now.fingerprint != facts_.fingerprint || now.test_fingerprint != facts_.test_fingerprint) {
      throw Error(opening_.facts->string() + ": the data of " + facts_.name +
                  " have changed since this run began; restore them, or give a file");
    }
  } else {
    facts_ = facts_of(config_, read);
  }
  if (opening_.hold_out) hold_out(read, config_.data.validation, static_cast<uint64_t>(config_.train.seed));
  return parts_.emplace(std::move(read));
}

const data::TokenSet& LraTask::part(Part part) {
  const TokenParts& all = parts();
  if (part == Part::validation && all.validation.examples() == 0) {
    throw Error("this run has held out no validation part");
  }
  return part == Part::train ? all.train : part == Part::validation ? all.validation : all.test;
}

const data::TokenSet& LraTask::chosen(const DataChoice& choice) {
  if (!choice.file) return part(choice.part);
  const auto [found, is_new] = files_.try_emplace(choice.file->string());
  if (is_new) {
    try {
      found->second = source_.read_file(*choice.file, facts_.tokens);
    } catch (...) {
      files_.erase(found);
      throw;
    }
  }
  return found->second;
}

std::unique_ptr<train::Batch> LraTask::batch(std::vector<int64_t> examples, base::Random /*random*/) const {
  auto result = std::make_unique<TokenInputs>(std::move(examples));
  result->batch = batch_of(parts_->train, result->examples, coding_);
  result->right = labels_of(parts_->train, result->examples);
  return result;
}

train::BatchLoss LraTask::loss(train::Batch& batch) {
  auto& inputs = static_cast<TokenInputs&>(batch);
  const KsvdListener heard(config_.loss);
  const auto [logits, terms] = model_->forward(inputs.batch);
  const torch::Tensor task = at::cross_entropy_loss(logits.to(torch::kFloat32), inputs.right, {}, at::Reduction::Mean,
                                                    /*ignore_index=*/-100, config_.loss.label_smoothing);
  const auto right = logits.argmax(1).eq(inputs.right).sum().item<int64_t>();
  train::BatchLoss result{.total = task,
                          .task = task.item<double>(),
                          .objective = {},
                          .score = static_cast<double>(right),
                          .tokens = inputs.batch.ids.numel()};
  add_ksvd(result, terms, config_.loss, heard);
  return result;
}

Evaluation LraTask::evaluate(Part which) { return evaluate(part(which), /*in_detail=*/which == Part::test); }

Evaluation LraTask::evaluate_file(const std::filesystem::path& file) {
  return evaluate(chosen({.file = file}), /*in_detail=*/true);
}

Evaluation LraTask::evaluate(const data::TokenSet& set, bool in_detail) {
  LraExaminer examiner(set, source_, facts_.classes, in_detail);
  for (const auto& group : evaluation_groups(set, examples_of(set, {}), coding_)) {
    examiner.add(group, model_->forward(batch_of(set, group, coding_)));
  }
  return examiner.result();
}

nlohmann::json LraTask::facts() const { return to_json(facts_); }

bool LraTask::has(Part part) const { return part != Part::validation || parts_->validation.examples() > 0; }

std::string LraTask::description() const {
  const auto count = [](const data::TokenSet& set) { return std::to_string(set.examples()); };
  return facts_.name + ": " + count(parts_->train) + " training examples, " +
         (has(Part::validation) ? count(parts_->validation) + " for validation, " : "") + count(parts_->test) +
         " for TEST; " + (facts_.per_example == 2 ? "pairs of " : "") + "up to " + std::to_string(facts_.tokens) +
         " tokens, " + std::to_string(facts_.classes.size()) + " classes";
}

std::vector<std::string> LraTask::notes() const {
  if (config_.run.protocol != Protocol::paper || source_.has_validation) return {};
  return {"the published run has no validation part here: its weights are chosen by TEST"};
}

std::vector<int64_t> LraTask::examples_of(const data::TokenSet& set, const DataChoice& choice) const {
  std::vector<int64_t> examples;
  int64_t tokens = 0;
  for (const int64_t i : order_of(choice, set.examples())) {
    tokens += padded_tokens(set, i, coding_);
    if (choice.tokens > 0 && tokens > choice.tokens && !examples.empty()) break;
    examples.push_back(i);
  }
  return examples;
}

std::string LraTask::describe(const DataChoice& choice) {
  const data::TokenSet& set = chosen(choice);
  constexpr const char* kNames[] = {" TRAIN", " validation part", " TEST"};
  const std::string name = choice.file ? choice.file->string() : facts_.name + kNames[static_cast<size_t>(choice.part)];
  const auto count = std::ssize(examples_of(set, choice));
  const bool is_fewer = count < std::ssize(examples_of(set, {.examples = choice.examples}));
  return name + ", " + std::to_string(count) + " examples" + (is_fewer ? " (no more, because they are long)" : "");
}

void LraTask::forward(const DataChoice& choice) {
  const torch::NoGradGuard no_grad;
  const data::TokenSet& set = chosen(choice);
  for (const auto& group : evaluation_groups(set, examples_of(set, choice), coding_)) {
    model_->forward(batch_of(set, group, coding_));
  }
}

std::unique_ptr<Task> LraTask::whole() {
  Opening opening = opening_;
  opening.hold_out = false;
  // Where a task has a validation part of its own, the refit trains on it as well.
  TokenParts all = parts();
  data::append(all.train, all.validation);
  all.validation = {};
  return std::unique_ptr<Task>(new LraTask(config_, opening, std::move(all), facts_));
}

std::vector<std::string> LraTask::predict(const PredictRequest& request, const LineWriter& write) {
  return predict_tokens(*model_, source_, facts_, coding_, request, write);
}

}  // namespace primal::tasks
