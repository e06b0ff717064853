#include "analysis/spectrum.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <span>

#include "analysis/spectrum_stats.h"

namespace primal::analysis {

namespace {

using run::LayerFacts;

std::vector<double> as_vector(const torch::Tensor& row) {
  const torch::Tensor values = row.to(torch::kFloat64).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

struct ScoreSpectrum {
  std::vector<double> mean;  // [s]
  double effective_rank = 0;
};

// scores: [B, H, N, s] -> [B H, s], zeros where there are fewer tokens than s. Rows of padded tokens are zero and
// change nothing.
torch::Tensor singular_values(const torch::Tensor& scores) {
  const int64_t rank = scores.size(-1);
  // In double: the small singular values of a sharp spectrum drown in the rounding of a float.
  const torch::Tensor values = at::linalg_svdvals(scores.to(torch::kFloat64)).flatten(0, 1);  // [B H, min(N, s)]
  return at::constant_pad_nd(values, {0, rank - values.size(1)}, 0);
}

// calls: [B H, s] each
ScoreSpectrum spectrum_of_calls(const std::vector<torch::Tensor>& calls) {
  const torch::Tensor values = at::cat(calls);
  ScoreSpectrum spectrum{as_vector(values.mean(0)), 0};
  for (int64_t i = 0; i < values.size(0); ++i) spectrum.effective_rank += effective_rank(as_vector(values[i]));
  spectrum.effective_rank /= static_cast<double>(std::max<int64_t>(values.size(0), 1));
  return spectrum;
}

// calls: of one layer
LayerFacts facts_of(PrimalAttentionImpl& attention, std::span<const nn::AttentionRecord> calls) {
  const bool samples = attention.options().data_dependent.value_or(true);
  LayerFacts facts{.name = calls.front().name,
                   .rank = attention.options().rank,
                   .rows = samples ? attention.we.size(1) : 0,
                   .heads = attention.options().heads};
  std::vector<torch::Tensor> e, r;
  for (const nn::AttentionRecord& call : calls) {
    const AttentionScoreOutput scores = attention.scores(call.input, {.query_padding = call.padding});
    e.push_back(singular_values(scores.e));
    r.push_back(singular_values(scores.r));
    facts.tokens = std::max(facts.tokens, call.input.size(1));
  }
  const ScoreSpectrum spectrum_e = spectrum_of_calls(e), spectrum_r = spectrum_of_calls(r);
  facts.singular_values_e = spectrum_e.mean;
  facts.singular_values_r = spectrum_r.mean;
  facts.effective_rank_e = spectrum_e.effective_rank;
  facts.effective_rank_r = spectrum_r.effective_rank;
  const torch::Tensor lambda = attention.lambda();
  for (int64_t h = 0; h < lambda.size(0); ++h) facts.lambda.push_back(as_vector(lambda[h]));
  return facts;
}

}  // namespace

std::vector<run::LayerFacts> spectrum_of(const std::vector<nn::AttentionRecord>& records) {
  const torch::NoGradGuard no_grad;
  std::vector<LayerFacts> layers;
  for (auto first = records.begin(); first != records.end();) {
    const auto last =
        std::find_if(first, records.end(), [&](const auto& record) { return record.attention != first->attention; });
    if (auto* primal = first->attention->primal()) layers.push_back(facts_of(*primal, {first, last}));
    first = last;
  }
  return layers;
}

}  // namespace primal::analysis
