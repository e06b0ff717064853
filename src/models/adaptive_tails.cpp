#include "models/adaptive_tails.h"

#include <ATen/ATen.h>

#include <cmath>

#include "ops/linear_cross_entropy/linear_cross_entropy.h"
#include "primal/error.h"

namespace primal::models {

namespace {

int64_t width_of_cluster(int64_t width, size_t cluster, int64_t factor) {
  for (size_t i = 0; i <= cluster; ++i) width /= factor;
  return width;
}

}  // namespace

void check(const AdaptiveOptions& options, int64_t vocabulary, int64_t width) {
  if (options.factor < 1) throw Error(c10::str("adaptive vocabulary: factor must be at least 1, got ", options.factor));
  int64_t before = 0;
  for (const int64_t cutoff : options.cutoffs) {
    if (cutoff <= before || cutoff >= vocabulary) {
      throw Error(c10::str("adaptive vocabulary: expected rising cutoffs between 0 and ", vocabulary, ", got ",
                           at::ArrayRef<int64_t>(options.cutoffs)));
    }
    before = cutoff;
  }
  if (!options.cutoffs.empty() && width_of_cluster(width, options.cutoffs.size() - 1, options.factor) < 1) {
    throw Error(c10::str("adaptive vocabulary: width ", width, " cannot be divided by ", options.factor,
                         " for each of ", options.cutoffs.size(), " clusters"));
  }
}

AdaptiveTailsImpl::AdaptiveTailsImpl(AdaptiveOptions options, int64_t vocabulary, int64_t width)
    : options_(std::move(options)), vocabulary_(vocabulary), width_(width) {
  check(options_, vocabulary_, width_);
  reset();
}

void AdaptiveTailsImpl::reset() {
  const torch::NoGradGuard no_grad;
  const auto normal = [](int64_t rows, int64_t columns) {
    return torch::empty({rows, columns}).normal_(0, 1 / std::sqrt(static_cast<double>(columns)));
  };
  clusters = register_parameter("clusters", normal(std::ssize(options_.cutoffs), width_));
  tables.clear();
  projections.clear();
  for (size_t i = 0; i < options_.cutoffs.size(); ++i) {
    const int64_t narrow = width_of_cluster(width_, i, options_.factor);
    const double bound = std::sqrt(6.0 / static_cast<double>(width_ + narrow));  // Glorot
    const std::string number = std::to_string(i);
    tables.push_back(register_parameter("table_" + number, normal(end_of(i) - begin_of(i), narrow)));
    projections.push_back(
        register_parameter("projection_" + number, torch::empty({width_, narrow}).uniform_(-bound, bound)));
  }
}

int64_t AdaptiveTailsImpl::end_of(size_t cluster) const {
  return cluster + 1 < options_.cutoffs.size() ? options_.cutoffs[cluster + 1] : vocabulary_;
}

torch::Tensor AdaptiveTailsImpl::places_of(const torch::Tensor& ids, size_t cluster) const {
  return (ids.ge(begin_of(cluster)) & ids.lt(end_of(cluster))).nonzero().squeeze(1);
}

torch::Tensor AdaptiveTailsImpl::embedded(const torch::Tensor& ids, const torch::Tensor& head, int64_t padding) const {
  const torch::Tensor frequent = ids.lt(begin_of(0)).nonzero().squeeze(1);
  torch::Tensor rows = at::zeros({ids.size(0), width_}, head.options())
                           .index_copy(0, frequent, at::embedding(head, ids.index_select(0, frequent), padding));
  for (size_t i = 0; i < tables.size(); ++i) {
    const torch::Tensor places = places_of(ids, i);
    const torch::Tensor narrow = at::embedding(tables[i], ids.index_select(0, places) - begin_of(i));
    rows = rows.index_copy(0, places, at::linear(narrow, projections[i]));
  }
  return rows;
}

torch::Tensor AdaptiveTailsImpl::log_probabilities(const torch::Tensor& features, const torch::Tensor& head) const {
  const torch::Tensor first = at::log_softmax(at::linear(features, at::cat({head, clusters})), -1);
  std::vector<torch::Tensor> parts{first.narrow(-1, 0, begin_of(0))};
  for (size_t i = 0; i < tables.size(); ++i) {
    const torch::Tensor within = at::log_softmax(at::linear(at::matmul(features, projections[i]), tables[i]), -1);
    parts.push_back(within + first.narrow(-1, begin_of(0) + static_cast<int64_t>(i), 1));
  }
  return at::cat(parts, -1);
}

AdaptiveTailsImpl::Loss AdaptiveTailsImpl::loss(const torch::Tensor& features, const torch::Tensor& targets,
                                                const torch::Tensor& head, int64_t ignored) const {
  torch::Tensor first = targets;
  std::vector<torch::Tensor> places;
  for (size_t i = 0; i < tables.size(); ++i) {
    places.push_back(places_of(targets, i));
    first = first.index_fill(0, places[i], begin_of(0) + static_cast<int64_t>(i));
  }
  auto [sum, nll] = ops::linear_cross_entropy(
      {.hidden = features, .weight = at::cat({head, clusters}), .targets = first, .ignore_index = ignored});
  for (size_t i = 0; i < tables.size(); ++i) {
    const auto [more, nll_within] =
        ops::linear_cross_entropy({.hidden = at::matmul(features.index_select(0, places[i]), projections[i]),
                                   .weight = tables[i],
                                   .targets = targets.index_select(0, places[i]) - begin_of(i),
                                   .ignore_index = -1});
    sum = sum + more;
    nll = nll.index_add(0, places[i], nll_within);
  }
  return {sum, nll};
}

}  // namespace primal::models
