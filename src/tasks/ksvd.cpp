#include "tasks/ksvd.h"

#include <ATen/ATen.h>

#include "base/format.h"

namespace primal::tasks {

namespace {

constexpr base::Names<KsvdReduction, 2> kReductionNames{
    {{"per_sample", KsvdReduction::per_sample}, {"batch_mean", KsvdReduction::batch_mean}}};

}  // namespace

void add_settings(base::Settings& settings, KsvdOptions& ksvd) {
  settings.add("loss.eta", &ksvd.eta, "weight of the KSVD term", base::at_least(0));
  settings.add("loss.ksvd_reduction", base::choice(ksvd.reduction, kReductionNames),
               "per_sample: mean of J^2; batch_mean: square of the mean of J (published for LRA and images)");
}

std::vector<std::string> too_large(const KsvdOptions& options) {
  constexpr double kUsual = 10;  // published: 0 to 1
  if (options.eta <= kUsual) return {};
  return {"loss.eta=0.1 instead of " + base::format_digits(options.eta, 4)};
}

std::vector<double> mean_objectives(const std::vector<KsvdTerms>& terms) {
  std::vector<double> means;
  for (const KsvdTerms& layer : terms) means.push_back(layer.objective().detach().mean().item<double>());
  return means;
}

void add_ksvd(train::BatchLoss& loss, const std::vector<KsvdTerms>& terms, const KsvdOptions& options) {
  loss.objective = mean_objectives(terms);
  if (options.eta == 0 || terms.empty()) return;
  const torch::Tensor ksvd = ksvd_loss(terms, options.eta, options.reduction);
  loss.ksvd = ksvd.item<double>();
  loss.total = loss.total + ksvd;
}

}  // namespace primal::tasks
