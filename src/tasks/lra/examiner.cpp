#include "tasks/lra/examiner.h"

#include <ATen/ATen.h>

#include <cmath>

#include "run/case_details.h"
#include "tasks/ksvd.h"
#include "tasks/lra/cases.h"
#include "tasks/lra/groups.h"
#include "tasks/lra/token_batches.h"

namespace primal::tasks {

LraExaminer::LraExaminer(const data::TokenSet& set, const LraSource& source, const std::vector<std::string>& classes,
                         bool in_detail)
    : source_(source), in_detail_(in_detail), examined_(set, classes), meter_(classes) {}

void LraExaminer::add(std::span<const int64_t> examples, const models::Classification& answer) {
  train::LossSums sums{.objective = mean_objectives(answer.terms)};
  for (double& objective : sums.objective) objective *= static_cast<double>(examples.size());
  const torch::Tensor logits = answer.outputs.to(torch::kFloat32), right = labels_of(examined_.set, examples);
  sums.loss = at::cross_entropy_loss(logits, right, {}, at::Reduction::Sum).item<double>();
  const auto [share, predicted] = logits.softmax(1).max(1);
  const auto as_span = [](const torch::Tensor& tensor) {
    return std::span(tensor.data_ptr<int64_t>(), static_cast<size_t>(tensor.numel()));
  };
  meter_.add(as_span(right), as_span(predicted), sums);
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto example = static_cast<size_t>(examples[i]);
    const float given = share.data_ptr<float>()[i];
    examined_.predicted[example] = as_span(predicted)[i];
    examined_.share[example] = std::isnan(given) ? 0 : given;  // shares are sorted
  }
}

run::Evaluation LraExaminer::result() const {
  run::Evaluation evaluation = meter_.result();
  if (in_detail_) {
    put(evaluation, run::CaseDetails{.reference_lines = reference_lines(source_, examined_.classes.size()),
                                     .groups = groups_of(examined_, source_),
                                     .pictures = pictures_of(examined_, source_),
                                     .texts = texts_of(examined_, source_)});
  }
  return evaluation;
}

}  // namespace primal::tasks
