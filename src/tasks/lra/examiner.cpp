#include "tasks/lra/examiner.h"

#include <ATen/ATen.h>

#include "tasks/ksvd.h"
#include "tasks/lra/token_batches.h"

namespace primal::tasks {

LraExaminer::LraExaminer(const data::TokenSet& set, const LraSource& source, const std::vector<std::string>& classes,
                         bool in_detail)
    : set_(set),
      source_(source),
      in_detail_(in_detail),
      meter_(classes),
      predicted_(static_cast<size_t>(set.examples()), -1),
      share_(static_cast<size_t>(set.examples()), 0) {}

void LraExaminer::add(std::span<const int64_t> examples, const models::Classification& answer) {
  train::LossSums sums{.objective = mean_objectives(answer.terms)};
  for (double& objective : sums.objective) objective *= static_cast<double>(examples.size());
  const torch::Tensor logits = answer.outputs.to(torch::kFloat32), right = labels_of(set_, examples);
  sums.loss = at::cross_entropy_loss(logits, right, {}, at::Reduction::Sum).item<double>();
  const auto [share, predicted] = logits.softmax(1).max(1);
  const auto as_span = [](const torch::Tensor& tensor) {
    return std::span(tensor.data_ptr<int64_t>(), static_cast<size_t>(tensor.numel()));
  };
  meter_.add(as_span(right), as_span(predicted), sums);
  for (size_t i = 0; i < examples.size(); ++i) {
    predicted_[static_cast<size_t>(examples[i])] = as_span(predicted)[i];
    share_[static_cast<size_t>(examples[i])] = share.data_ptr<float>()[i];
  }
}

run::Evaluation LraExaminer::result() const { return meter_.result(); }

}  // namespace primal::tasks
