#include "analysis/ksvd_check.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <map>

#include "analysis/ksvd_conditions.h"
#include "base/random.h"
#include "nn/record.h"

namespace primal::analysis {

namespace {

// Of these random weights the conditions of the mean of J are measured, too: each needs a sum over all calls.
constexpr int64_t kFollowedDraws = 4;

void add_values(const KsvdConditions& conditions, MeasuredWeights& measured) {
  for (size_t m = 0; m < kMeasures; ++m) {
    const at::Tensor values = conditions.values[m].contiguous();  // [B, H]
    const int64_t heads = values.size(1);
    measured.heads.resize(static_cast<size_t>(heads));
    const double* value = values.const_data_ptr<double>();
    for (int64_t i = 0; i < values.numel(); ++i) {
      measured.all[m].add(value[i]);
      measured.heads[static_cast<size_t>(i % heads)][m].add(value[i]);
    }
  }
}

// The conditions of the mean of J over the samples of all calls.
class MeanConditions {
 public:
  void add(const KsvdConditions& conditions) {
    we_ = conditions.we;
    wr_ = conditions.wr;
    add_to(sum_we_, conditions.wanted_we);
    add_to(sum_wr_, conditions.wanted_wr);
    samples_ += conditions.wanted_we.size(0);
  }
  // Of each head: [H]
  at::Tensor residual() const {
    const auto samples = static_cast<double>(samples_);
    return relative_residual(we_[0], sum_we_ / samples, wr_[0], sum_wr_ / samples);
  }
  bool empty() const { return samples_ == 0; }

 private:
  static void add_to(at::Tensor& sum, const at::Tensor& wanted) {
    sum = sum.defined() ? sum + wanted.sum(0) : wanted.sum(0);
  }

  at::Tensor we_, wr_, sum_we_, sum_wr_;
  int64_t samples_ = 0;
};

void add_residual(const MeanConditions& conditions, MeasuredWeights& measured) {
  if (conditions.empty()) return;
  const at::Tensor residual = conditions.residual().contiguous();
  for (int64_t h = 0; h < residual.size(0); ++h) measured.mean_residual.add(residual[h].item<double>());
}

// Normal numbers with the norm of each head of `like`: [samples, H, n, s]
at::Tensor random_like(const at::Tensor& like, int64_t samples, const at::Generator& generator) {
  const at::Tensor drawn = at::randn({samples, like.size(0), like.size(1), like.size(2)}, generator, at::kDouble);
  const auto norm = [](const at::Tensor& x) { return x.square().sum({-2, -1}, /*keepdim=*/true).sqrt(); };
  return drawn / norm(drawn) * norm(like.detach().to(at::kDouble));
}

class LayerMeter {
 public:
  LayerMeter(const nn::AttentionRecord& first, const KsvdCheckOptions& options)
      : name_(first.name), layer_(first.attention->primal()), index_(first.layer), options_(options) {}

  void add(const nn::AttentionRecord& call) {
    const auto factors = ksvd_factors(*layer_, call.input, call.padding);
    if (!factors) return;
    result_.samples += factors->samples();
    add_kernel(factors->singular_values);
    const KsvdConditions own = ksvd_conditions(*factors, {layer_->we, layer_->wr, layer_->lambda()});
    add_values(own, result_.own);
    // Where the trace is of We|X and Wr|X, every sample has weights of its own.
    const bool shared = !factors->sampled.defined();
    if (shared) own_mean_.add(own);
    add_random(*factors, shared);
  }

  KsvdLayer result() {
    const PrimalAttentionOptions& o = layer_->options();
    result_.name = name_;
    result_.rank = o.rank;
    result_.rows = o.data_dependent.value_or(true) ? layer_->we.size(1) : 0;
    result_.heads = o.heads;
    add_residual(own_mean_, result_.own);
    for (const MeanConditions& followed : followed_) add_residual(followed, result_.random);
    result_.kernel.effective_rank = effective_rank_.mean();
    if (!explained_.defined()) return result_;
    const at::Tensor mean = (explained_ / static_cast<double>(kernels_)).contiguous();
    result_.features = mean.numel();
    result_.kernel.explained.assign(mean.const_data_ptr<double>(), mean.const_data_ptr<double>() + mean.numel());
    return result_;
  }

 private:
  // [B, H, p]
  void add_kernel(const at::Tensor& singular_values) {
    const at::Tensor energy = singular_values.square().flatten(0, 1);
    const at::Tensor share = energy / energy.sum(1, /*keepdim=*/true);
    const at::Tensor entropy = -at::special_xlogy(share, share).sum(1);
    for (int64_t i = 0; i < entropy.size(0); ++i) effective_rank_.add(std::exp(entropy[i].item<double>()));
    const at::Tensor known = at::nan_to_num(share.cumsum(1)).sum(0);  // a kernel matrix may be zero
    explained_ = explained_.defined() ? explained_ + known : known;
    kernels_ += energy.size(0);
  }

  // Of the same number: the same weights.
  KsvdConditions of_random(const KsvdFactors& factors, int64_t samples, uint64_t purpose, int64_t number) const {
    const uint64_t seed = base::Random::numbered(options_.seed, purpose, static_cast<uint64_t>(number)).next();
    const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    const at::Tensor we = random_like(layer_->we, samples, generator), wr = random_like(layer_->wr, samples, generator);
    return ksvd_conditions(factors, {we, wr, layer_->lambda()});
  }

  void add_random(const KsvdFactors& factors, bool shared) {
    const int64_t samples = factors.samples();
    const uint64_t purpose = 2 * static_cast<uint64_t>(index_);
    for (int64_t i = 0; i < options_.draws; i += samples) {  // each sample has weights of its own
      add_values(of_random(factors, samples, purpose, drawn_++), result_.random);
    }
    if (!shared) return;
    followed_.resize(kFollowedDraws);
    for (int64_t i = 0; i < kFollowedDraws; ++i) {  // all samples of all calls have the same
      followed_[static_cast<size_t>(i)].add(of_random(factors, 1, purpose + 1, i));
    }
  }

  std::string name_;
  PrimalAttentionImpl* layer_;
  size_t index_;
  KsvdCheckOptions options_;
  KsvdLayer result_;
  MeanConditions own_mean_;
  std::vector<MeanConditions> followed_;
  int64_t drawn_ = 0;
  Spread effective_rank_;
  at::Tensor explained_;  // [p], sum over kernel matrices
  int64_t kernels_ = 0;
};

}  // namespace

std::vector<KsvdLayer> ksvd_check(torch::nn::Module& model, const std::function<void()>& pass,
                                  const KsvdCheckOptions& options) {
  const at::NoGradGuard no_grad;
  std::map<size_t, LayerMeter> meters;
  nn::listen(model, pass, [&](const nn::AttentionRecord& call) {
    if (call.attention->primal() == nullptr) return;
    meters.try_emplace(call.layer, call, options).first->second.add(call);
  });
  std::vector<KsvdLayer> layers;
  for (auto& [index, meter] : meters) layers.push_back(meter.result());
  return layers;
}

}  // namespace primal::analysis
