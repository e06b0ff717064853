#include "tasks/ksvd.h"

#include <ATen/ATen.h>

#include <map>

#include "base/format.h"
#include "nn/attention/observer.h"
#include "nn/ksvd_conditions.h"

namespace primal::tasks {

namespace {

constexpr base::Names<KsvdReduction, 2> kReductionNames{
    {{"per_sample", KsvdReduction::per_sample}, {"batch_mean", KsvdReduction::batch_mean}}};

constexpr base::Names<KsvdTarget, 2> kTargetNames{
    {{"objective", KsvdTarget::objective}, {"stationarity", KsvdTarget::stationarity}}};

}  // namespace

class KsvdListener::Hearing : public nn::AttentionObserver {
 public:
  explicit Hearing(KsvdReduction reduction) : reduction_(reduction) {}

  void saw(const std::shared_ptr<nn::Attention>& attention, const torch::Tensor& input,
           const std::optional<torch::Tensor>& padding) override {
    const PrimalAttentionImpl* layer = attention->primal();
    if (layer == nullptr) return;
    Calls& calls = layers_[attention.get()];
    const torch::Tensor residual = nn::ksvd_conditions(*layer, input, padding, reduction_);
    calls.sum = calls.sum.defined() ? calls.sum + residual : residual;
    ++calls.count;
  }

  torch::Tensor residual() const {
    torch::Tensor sum;
    for (const auto& [attention, calls] : layers_) {
      const torch::Tensor mean = calls.sum / calls.count;
      sum = sum.defined() ? sum + mean : mean;
    }
    return sum.defined() ? sum / static_cast<double>(layers_.size()) : sum;
  }

 private:
  struct Calls {
    torch::Tensor sum{};
    int64_t count = 0;
  };

  KsvdReduction reduction_;
  std::map<const nn::Attention*, Calls> layers_;
};

KsvdListener::KsvdListener(const KsvdOptions& options) {
  if (options.target == KsvdTarget::stationarity && options.eta > 0) {
    hearing_ = std::make_unique<Hearing>(options.reduction);
  }
}

KsvdListener::~KsvdListener() = default;

torch::Tensor KsvdListener::residual() const { return hearing_ ? hearing_->residual() : torch::Tensor(); }

void add_settings(base::Settings& settings, KsvdOptions& ksvd) {
  settings.add("loss.eta", &ksvd.eta, "weight of the KSVD term", base::at_least(0));
  settings.add("loss.ksvd", base::choice(ksvd.target, kTargetNames),
               "objective: J^2 (published); stationarity: residual of the conditions of a kernel SVD");
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

void add_ksvd(train::BatchLoss& loss, const std::vector<KsvdTerms>& terms, const KsvdOptions& options,
              const KsvdListener& heard) {
  loss.objective = mean_objectives(terms);
  if (options.eta == 0 || terms.empty()) return;
  const torch::Tensor ksvd = options.target == KsvdTarget::stationarity
                                 ? heard.residual() * options.eta
                                 : ksvd_loss(terms, options.eta, options.reduction);
  loss.ksvd = ksvd.item<double>();
  loss.total = loss.total + ksvd;
}

}  // namespace primal::tasks
