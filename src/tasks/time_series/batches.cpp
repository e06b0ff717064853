#include "tasks/time_series/batches.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

namespace primal::tasks {

namespace {

constexpr int64_t kEvaluationTokens = 16384;  // of a batch; 2048-wide feed-forward: 128 MB
constexpr int64_t kEvaluationCases = 128;

void copy_times(const data::TimeSeriesSet& set, int64_t i, std::span<float> into) {
  for (size_t step = 0; step < into.size(); ++step) into[step] = static_cast<float>(set.times[set.offsets[i] + step]);
}

}  // namespace

int64_t evaluation_batch(int64_t tokens) {
  return std::clamp<int64_t>(kEvaluationTokens / std::max<int64_t>(tokens, 1), 1, kEvaluationCases);
}

torch::Tensor lengths_of(const data::TimeSeriesSet& set, std::span<const int64_t> cases, int64_t tokens) {
  torch::Tensor lengths = torch::empty({std::ssize(cases)}, torch::kInt64);
  std::transform(cases.begin(), cases.end(), lengths.data_ptr<int64_t>(),
                 [&](int64_t i) { return std::min(set.length(i), tokens); });
  return lengths;
}

models::SeriesBatch batch_of(const data::TimeSeriesSet& set, std::span<const int64_t> cases, int64_t tokens,
                             bool full) {
  const torch::Tensor lengths = lengths_of(set, cases, tokens);
  const int64_t padded = full ? tokens : lengths.max().item<int64_t>();
  models::SeriesBatch batch{.x = torch::zeros({std::ssize(cases), padded, set.channels}),
                            .padding = padding_mask(lengths, padded)};
  if (!set.times.empty()) batch.times = torch::zeros({std::ssize(cases), padded});
  for (int64_t row = 0; row < std::ssize(cases); ++row) {
    const auto length = static_cast<size_t>(lengths.data_ptr<int64_t>()[row]);
    std::memcpy(batch.x.data_ptr<float>() + row * padded * set.channels, set.series(cases[row]).data(),
                length * static_cast<size_t>(set.channels) * sizeof(float));
    if (batch.times) copy_times(set, cases[row], {batch.times->data_ptr<float>() + row * padded, length});
  }
  return batch;
}

}  // namespace primal::tasks
