// Causal language modelling: predict every token of a text from those before it.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "models/language_model.h"
#include "tasks/family.h"
#include "tasks/language/blocks.h"
#include "tasks/language/config.h"
#include "tasks/language/language_data.h"
#include "tasks/language/scorer.h"

namespace primal::tasks {

class LanguageTask : public Task {
 public:
  LanguageTask(const LanguageConfig& config, const Opening& opening);

  torch::nn::Module& model() override { return *model_; }
  const train::Metric& metric() const override { return language_metric(facts_.coder->unit()); }
  int64_t examples() const override { return std::ssize(blocks_); }
  std::unique_ptr<train::Batch> batch(std::vector<int64_t> examples, base::Random random) const override;
  train::BatchLoss loss(train::Batch& batch) override;
  Evaluation evaluate(Part part) override;

  /// With the options of the model, so that it can be had without the program (inference/).
  nlohmann::json facts() const override;
  bool has(Part part) const override;
  std::string description() const override;
  std::vector<std::string> notes() const override;
  std::string describe(const DataChoice& choice) override;
  void forward(const DataChoice& choice) override;
  Evaluation evaluate_file(const std::filesystem::path& file) override;
  /// A line for each token of a text: what it is and how surprising.
  std::vector<std::string> predict(const PredictRequest& request, const LineWriter& write) override;

  const models::LanguageModel& language_model() const { return model_; }
  const data::TextCoder& coder() const { return *facts_.coder; }

 private:
  LanguageData& data();
  [[noreturn]] void fail_changed() const;
  const data::TokenStream& part(Part part);
  const data::TokenStream& chosen(const DataChoice& choice);
  std::vector<Window> windows_of(const DataChoice& choice);
  std::optional<int64_t> padding() const;
  ScoringOptions scoring(int64_t context) const;
  Evaluation evaluate(const data::TokenStream& text, int64_t context, bool in_detail);

  LanguageConfig config_;
  Opening opening_;
  std::unique_ptr<LanguageData> data_;              // of a trained run: when it is asked for
  std::map<std::string, data::TokenStream> files_;  // encoded once each
  LanguageFacts facts_;
  std::vector<Window> blocks_;  // of TRAIN
  models::LanguageModel model_{nullptr};
};

}  // namespace primal::tasks
