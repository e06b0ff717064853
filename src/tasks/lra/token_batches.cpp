#include "tasks/lra/token_batches.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace primal::tasks {

namespace {

constexpr int64_t kEvaluationTokens = 65536;  // of a group; width 64, feed-forward 128: about 100 MB

int64_t longest_of(const data::TokenSet& set, int64_t example) {
  int64_t longest = 1;  // a batch has at least one column
  for (int64_t which = 0; which < set.per_example; ++which) longest = std::max(longest, set.length(example, which));
  return longest;
}

int64_t columns_of(const data::TokenSet& set, std::span<const int64_t> examples, const TokenCoding& coding) {
  int64_t longest = coding.padded_to;
  if (longest > 0) return longest;
  for (const int64_t example : examples) longest = std::max(longest, longest_of(set, example));
  return std::max<int64_t>(longest, 1);
}

void copy_ids(std::span<const uint8_t> sequence, int64_t first_id, int64_t* ids) {
  std::transform(sequence.begin(), sequence.end(), ids, [&](uint8_t token) { return first_id + token; });
}

}  // namespace

models::TokenBatch batch_of(const data::TokenSet& set, std::span<const int64_t> examples, const TokenCoding& coding) {
  const int64_t count = std::ssize(examples), columns = columns_of(set, examples, coding);
  torch::Tensor ids = torch::zeros({count * set.per_example, columns}, torch::kInt64);
  torch::Tensor lengths = torch::empty({ids.size(0)}, torch::kInt64);
  for (int64_t which = 0, row = 0; which < set.per_example; ++which) {
    for (int64_t i = 0; i < count; ++i, ++row) {
      const auto sequence = set.sequence(examples[static_cast<size_t>(i)], which);
      const auto shown = sequence.first(std::min(sequence.size(), static_cast<size_t>(columns)));
      copy_ids(shown, coding.first_id, ids.data_ptr<int64_t>() + row * columns);
      lengths.data_ptr<int64_t>()[row] = std::ssize(shown);
    }
  }
  return {ids, coding.zero_is_padding ? ids.eq(0) : padding_mask(lengths, columns)};
}

torch::Tensor labels_of(const data::TokenSet& set, std::span<const int64_t> examples) {
  torch::Tensor labels = torch::empty({std::ssize(examples)}, torch::kInt64);
  std::ranges::transform(examples, labels.data_ptr<int64_t>(),
                         [&](int64_t example) { return set.labels[static_cast<size_t>(example)]; });
  return labels;
}

int64_t padded_tokens(const data::TokenSet& set, int64_t example, const TokenCoding& coding) {
  return set.per_example * (coding.padded_to > 0 ? coding.padded_to : longest_of(set, example));
}

std::vector<std::vector<int64_t>> evaluation_groups(const data::TokenSet& set, std::span<const int64_t> examples,
                                                    const TokenCoding& coding) {
  std::vector<int64_t> order(examples.begin(), examples.end());
  std::ranges::stable_sort(order, {}, [&](int64_t example) { return longest_of(set, example); });
  std::vector<std::vector<int64_t>> groups;
  for (const int64_t example : order) {
    const int64_t tokens = padded_tokens(set, example, coding);  // the longest so far
    const bool is_full = groups.empty() || tokens * (std::ssize(groups.back()) + 1) > kEvaluationTokens;
    if (is_full) groups.emplace_back();
    groups.back().push_back(example);
  }
  return groups;
}

}  // namespace primal::tasks
