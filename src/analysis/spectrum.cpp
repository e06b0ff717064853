#include "analysis/spectrum.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "analysis/row_triangle.h"
#include "analysis/spectrum_stats.h"
#include "nn/record.h"

namespace primal::analysis {

namespace {

using run::LayerFacts;

std::vector<double> as_vector(const torch::Tensor& row) {
  const torch::Tensor values = row.to(torch::kFloat64).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

// More rows than this are decomposed block by block.
constexpr int64_t kBlock = 4096;

// scores: [B, H, N, s] -> [B H, s], zeros where there are fewer tokens than s. Rows of padded tokens are zero and
// change nothing.
torch::Tensor singular_values(const torch::Tensor& scores) {
  const int64_t rank = scores.size(-1);
  // In double: the small singular values of a sharp spectrum drown in the rounding of a float.
  const torch::Tensor factor = scores.size(2) > kBlock ? row_triangle(scores) : scores.to(torch::kFloat64);
  const torch::Tensor values = at::linalg_svdvals(factor).flatten(0, 1);  // [B H, min(N, s)]
  return at::constant_pad_nd(values, {0, rank - values.size(1)}, 0);
}

// Of e or of r, over all calls of a layer.
class ScoreSpectrum {
 public:
  // values: [B H, s]
  void add(const torch::Tensor& values) {
    const torch::Tensor sum = values.sum(0);
    sum_ = sum_.defined() ? sum_ + sum : sum;
    for (int64_t i = 0; i < values.size(0); ++i) effective_ranks_ += effective_rank(as_vector(values[i]));
    matrices_ += values.size(0);
  }
  std::vector<double> mean() const { return as_vector(sum_ / std::max<int64_t>(matrices_, 1)); }
  double mean_effective_rank() const { return effective_ranks_ / static_cast<double>(std::max<int64_t>(matrices_, 1)); }

 private:
  torch::Tensor sum_;  // [s]
  double effective_ranks_ = 0;
  int64_t matrices_ = 0;
};

struct LayerSpectrum {
  std::string name;
  PrimalAttentionImpl* attention = nullptr;
  ScoreSpectrum e{}, r{};
  int64_t tokens = 0;

  void add(const nn::AttentionRecord& call) {
    const AttentionScoreOutput scores = attention->scores(call.input, {.query_padding = call.padding});
    e.add(singular_values(scores.e));
    r.add(singular_values(scores.r));
    tokens = std::max(tokens, call.input.size(1));
  }
};

LayerFacts facts_of(const LayerSpectrum& layer) {
  const PrimalAttentionImpl& attention = *layer.attention;
  const bool samples = attention.options().data_dependent.value_or(true);
  LayerFacts facts{.name = layer.name,
                   .rank = attention.options().rank,
                   .rows = samples ? attention.we.size(1) : 0,
                   .tokens = layer.tokens,
                   .heads = attention.options().heads,
                   .singular_values_e = layer.e.mean(),
                   .singular_values_r = layer.r.mean(),
                   .effective_rank_e = layer.e.mean_effective_rank(),
                   .effective_rank_r = layer.r.mean_effective_rank()};
  const torch::Tensor lambda = attention.lambda();
  for (int64_t h = 0; h < lambda.size(0); ++h) facts.lambda.push_back(as_vector(lambda[h]));
  return facts;
}

}  // namespace

std::vector<run::LayerFacts> spectrum_of(torch::nn::Module& model, const std::function<void()>& pass) {
  const torch::NoGradGuard no_grad;
  std::map<size_t, LayerSpectrum> layers;
  nn::listen(model, pass, [&](const nn::AttentionRecord& call) {
    PrimalAttentionImpl* primal = call.attention->primal();
    if (primal == nullptr) return;
    layers.try_emplace(call.layer, LayerSpectrum{call.name, primal}).first->second.add(call);
  });
  std::vector<LayerFacts> facts;
  for (const auto& [index, layer] : layers) facts.push_back(facts_of(layer));
  return facts;
}

}  // namespace primal::analysis
