// Classification of token sequences, or of pairs of them: the Long Range Arena.
#pragma once

#include <map>
#include <optional>

#include "tasks/family.h"
#include "tasks/lra/config.h"
#include "tasks/lra/lra_data.h"
#include "tasks/lra/token_batches.h"

namespace primal::tasks {

class LraTask : public Task {
 public:
  LraTask(const LraConfig& config, const Opening& opening);

  torch::nn::Module& model() override { return *model_; }
  const train::Metric& metric() const override { return run::accuracy_metric(); }
  int64_t examples() const override { return parts_->train.examples(); }
  std::unique_ptr<train::Batch> batch(std::vector<int64_t> examples, base::Random random) const override;
  train::BatchLoss loss(train::Batch& batch) override;
  Evaluation evaluate(Part part) override;

  nlohmann::json facts() const override;
  bool has(Part part) const override;
  std::string description() const override;
  std::vector<std::string> notes() const override;
  std::string describe(const DataChoice& choice) override;
  void forward(const DataChoice& choice) override;
  std::unique_ptr<Task> whole() override;
  Evaluation evaluate_file(const std::filesystem::path& file) override;
  std::vector<std::string> predict(const PredictRequest& request, const LineWriter& write) override;

 private:
  LraTask(const LraConfig& config, const Opening& opening, TokenParts parts, LraFacts facts);

  TokenParts& parts();
  const data::TokenSet& part(Part part);
  const data::TokenSet& chosen(const DataChoice& choice);
  std::vector<int64_t> examples_of(const data::TokenSet& set, const DataChoice& choice) const;
  void make_model();
  Evaluation evaluate(const data::TokenSet& set, bool in_detail);

  LraConfig config_;
  Opening opening_;
  const LraSource& source_;
  std::optional<TokenParts> parts_;              // of a trained run: when they are asked for
  std::map<std::string, data::TokenSet> files_;  // read once each
  LraFacts facts_;
  TokenCoding coding_;
  models::TokenClassifier model_{nullptr};
};

}  // namespace primal::tasks
