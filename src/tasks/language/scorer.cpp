#include "tasks/language/scorer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "run/text_details.h"
#include "tasks/ksvd.h"

namespace primal::tasks {

namespace {

constexpr int64_t kScoringTokens = 8192;  // that go through the model together
constexpr int64_t kPassage = 48;          // tokens of a passage in the report
constexpr size_t kPassages = 6;           // of either kind

// Windows of equal length that stand one after another, as many as go through the model together.
std::vector<std::span<const Window>> groups_of(std::span<const Window> windows, int64_t block) {
  const auto most = static_cast<size_t>(std::max<int64_t>(1, kScoringTokens / block));
  std::vector<std::span<const Window>> groups;
  for (size_t begin = 0; begin < windows.size();) {
    size_t end = begin + 1;
    while (end < windows.size() && end - begin < most && windows[end].size() == windows[begin].size()) ++end;
    groups.push_back(windows.subspan(begin, end - begin));
    begin = end;
  }
  return groups;
}

// Two passages of the same stretch of text would say the same twice.
struct PassageChoice {
  std::vector<double> sums;  // of each passage

  explicit PassageChoice(const std::vector<float>& nll) {
    for (int64_t begin = 0; begin + kPassage <= std::ssize(nll); begin += kPassage) {
      sums.push_back(std::accumulate(nll.begin() + begin, nll.begin() + begin + kPassage, 0.0));
    }
  }
  std::vector<int64_t> best(bool largest) const {
    std::vector<int64_t> order(sums.size());
    std::iota(order.begin(), order.end(), 0);
    const size_t count = std::min(kPassages, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), [&](int64_t a, int64_t b) {
      const double x = sums[static_cast<size_t>(a)], y = sums[static_cast<size_t>(b)];
      return x != y ? (largest ? x > y : x < y) : a < b;
    });
    order.resize(count);
    return order;
  }
};

run::Passage passage_at(int64_t begin, const TextScores& scores, const data::TokenStream& text,
                        const data::TextCoder& coder) {
  run::Passage passage;
  data::TextDecoder decoder(coder);  // a character stands with the last of its bytes
  for (int64_t i = begin; i < begin + kPassage; ++i) {
    passage.tokens.push_back({.text = decoder.add(text.id(i)), .nll = scores.nll[static_cast<size_t>(i)]});
  }
  return passage;
}

// Places in a block, each range twice as long as the one before: the first tokens are where context is missing.
std::vector<run::PlaceLoss> losses_by_place(const TextScores& scores) {
  std::vector<run::PlaceLoss> all;
  const auto size = std::ssize(scores.by_place_sum);
  for (int64_t begin = 0, length = 1; begin < size; begin += length, length = std::max<int64_t>(1, begin)) {
    run::PlaceLoss range{.from = begin, .to = std::min(begin + length, size) - 1};
    int64_t count = 0;
    for (int64_t i = range.from; i <= range.to; ++i) {
      range.loss += scores.by_place_sum[static_cast<size_t>(i)];
      count += scores.by_place_count[static_cast<size_t>(i)];
    }
    if (count == 0) continue;
    range.loss /= static_cast<double>(count);
    all.push_back(range);
  }
  return all;
}

}  // namespace

TextScores score_text(models::LanguageModelImpl& model, const data::TokenStream& text, const data::TextCoder& coder,
                      const ScoringOptions& options) {
  const torch::NoGradGuard no_grad;
  TextScores scores{.nll = std::vector<float>(static_cast<size_t>(text.size())),
                    .by_place_sum = std::vector<double>(static_cast<size_t>(options.block)),
                    .by_place_count = std::vector<int64_t>(static_cast<size_t>(options.block)),
                    .objective = {}};
  const std::vector<Window> windows = scoring_windows(text, options.block, options.context, options.breaks);
  int64_t seen = 0;
  for (const auto& group : groups_of(windows, options.block)) {
    const BlockBatch batch = batch_of(text, group, coder.end(), options.padding);
    const auto [features, terms] = model.forward(batch.ids);
    const torch::Tensor nll = model.loss(features, batch.targets).nll.to(torch::kFloat32).contiguous();
    const std::vector<double> objective = mean_objectives(terms);
    scores.objective.resize(objective.size());
    for (size_t i = 0; i < objective.size(); ++i) {
      scores.objective[i] += objective[i] * static_cast<double>(group.size());
    }
    seen += std::ssize(group);
    for (size_t i = 0; i < group.size(); ++i) {
      const Window& window = group[i];
      const float* row = nll.data_ptr<float>() + static_cast<int64_t>(i) * nll.size(1);
      for (int64_t token = window.begin; token < window.end; ++token) {
        const float value = row[token - window.begin];
        scores.by_place_sum[static_cast<size_t>(token - window.begin)] += value;
        ++scores.by_place_count[static_cast<size_t>(token - window.begin)];
        if (token < window.scored) continue;
        scores.nll[static_cast<size_t>(token)] = value;
        scores.sum += value;
      }
    }
  }
  for (double& objective : scores.objective) objective /= static_cast<double>(seen);
  return scores;
}

const run::Metric& language_metric(std::string_view unit) {
  static const run::Metric perplexity{.key = "perplexity", .name = "perplexity", .lower_is_better = true};
  static const run::Metric bits{.key = "bits_per_byte", .name = "bits per byte", .lower_is_better = true};
  return unit == "bytes" ? bits : perplexity;
}

run::Evaluation evaluation_of(const TextScores& scores, const data::TokenStream& text, const data::TextCoder& coder) {
  const double loss = scores.sum / static_cast<double>(text.size());
  const double bits = scores.sum / std::numbers::ln2 / static_cast<double>(text.counts().bytes);
  const double perplexity = std::exp(loss);
  run::Evaluation evaluation{.score = coder.unit() == "bytes" ? bits : perplexity,
                             .loss = loss,
                             .also = {{"tokens", static_cast<double>(text.size())}},
                             .objective = scores.objective};
  // A text with hardly a blank has none that is a number.
  const double per_word = std::exp(scores.sum / static_cast<double>(text.counts().words));
  if (std::isfinite(per_word)) evaluation.also["word_perplexity"] = per_word;
  // The one that is not the score.
  if (coder.unit() == "bytes") {
    evaluation.also["perplexity"] = perplexity;
  } else {
    evaluation.also["bits_per_byte"] = bits;
  }
  return evaluation;
}

void put_details(run::Evaluation& evaluation, const TextScores& scores, const data::TokenStream& text,
                 const data::TextCoder& coder) {
  const PassageChoice choice(scores.nll);
  run::TextDetails details{.by_place = losses_by_place(scores)};
  for (const int64_t index : choice.best(/*largest=*/true)) {
    details.most_surprising.push_back(passage_at(index * kPassage, scores, text, coder));
  }
  for (const int64_t index : choice.best(/*largest=*/false)) {
    details.least_surprising.push_back(passage_at(index * kPassage, scores, text, coder));
  }
  put(evaluation, details);
}

}  // namespace primal::tasks
