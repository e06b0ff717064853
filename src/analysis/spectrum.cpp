#include "analysis/spectrum.h"

#include <ATen/ATen.h>

#include "analysis/spectrum_stats.h"

namespace primal::analysis {

namespace {

std::vector<double> as_vector(const torch::Tensor& row) {
  const torch::Tensor values = row.to(torch::kFloat64).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

struct ScoreSpectrum {
  std::vector<double> mean;  // [s]
  double effective_rank = 0;
};

// scores: [B, H, N, s]. Rows of padded tokens are zero and change nothing.
ScoreSpectrum spectrum_of_scores(const torch::Tensor& scores) {
  const int64_t rank = scores.size(-1);
  // In double: the small singular values of a sharp spectrum drown in the rounding of a float.
  torch::Tensor values = at::linalg_svdvals(scores.to(torch::kFloat64)).flatten(0, 1);  // [B H, min(N, s)]
  values = at::constant_pad_nd(values, {0, rank - values.size(1)}, 0);
  ScoreSpectrum spectrum{as_vector(values.mean(0)), 0};
  for (int64_t i = 0; i < values.size(0); ++i) spectrum.effective_rank += effective_rank(as_vector(values[i]));
  spectrum.effective_rank /= static_cast<double>(std::max<int64_t>(values.size(0), 1));
  return spectrum;
}

LayerFacts facts_of(PrimalAttentionImpl& attention, const torch::Tensor& input, const models::SeriesBatch& batch) {
  AttentionInputs inputs;
  if (attention.options().padding == Padding::respect) inputs.query_padding = batch.padding;
  const AttentionScoreOutput scores = attention.scores(input, inputs);
  const ScoreSpectrum e = spectrum_of_scores(scores.e), r = spectrum_of_scores(scores.r);
  LayerFacts facts{.rank = attention.options().rank,
                   .rows = attention.we.size(1),
                   .tokens = input.size(1),
                   .heads = attention.options().heads,
                   .singular_values_e = e.mean,
                   .singular_values_r = r.mean,
                   .effective_rank_e = e.effective_rank,
                   .effective_rank_r = r.effective_rank};
  const torch::Tensor lambda = attention.lambda();
  for (int64_t h = 0; h < lambda.size(0); ++h) facts.lambda.push_back(as_vector(lambda[h]));
  return facts;
}

}  // namespace

std::vector<LayerFacts> spectrum_of(models::SequenceClassifierImpl& model, const models::SeriesBatch& batch) {
  torch::NoGradGuard no_grad;
  model.eval();
  const std::vector<torch::Tensor> inputs = model.attention_inputs(batch);
  std::vector<LayerFacts> layers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto& layer = *model.encoder->layers[i]->as<nn::EncoderLayerImpl>();
    if (layer.primal_attention.is_empty()) continue;
    layers.push_back(facts_of(*layer.primal_attention, inputs[i], batch));
    layers.back().name = "layer " + std::to_string(i + 1);
  }
  return layers;
}

}  // namespace primal::analysis
