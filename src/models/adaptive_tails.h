// The rarer words of a large vocabulary in narrower tables (adaptive input and output, tied): ids are sorted by how
// often they come, a range of rare ones is a cluster, and the output first says which cluster, then which of its words.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

namespace primal::models {

struct AdaptiveOptions {
  std::vector<int64_t> cutoffs{};  ///< rising: ids from the i-th on, up to the next, are cluster i; empty = no clusters
  int64_t factor = 4;              ///< each cluster's vectors are shorter by this factor than those before
};

/// Throws Error for cutoffs that are no rising ids of the vocabulary, or vectors that would have no element.
void check(const AdaptiveOptions& options, int64_t vocabulary, int64_t width);

/// All but the frequent ids, whose table, head: [cutoffs[0], D], the model has. A cluster has a table E [n, d] and a
/// projection P [D, d]: its embedding is E P^T, its logits (h P) E^T.
class AdaptiveTailsImpl : public torch::nn::Cloneable<AdaptiveTailsImpl> {
 public:
  AdaptiveTailsImpl(AdaptiveOptions options, int64_t vocabulary, int64_t width);

  /// ids: [T] -> [T, D]
  torch::Tensor embedded(const torch::Tensor& ids, const torch::Tensor& head, int64_t padding) const;
  /// features: [T, D] -> [T, V]
  torch::Tensor log_probabilities(const torch::Tensor& features, const torch::Tensor& head) const;

  struct Loss {
    torch::Tensor sum;  ///< scalar
    torch::Tensor nll;  ///< [T], without gradient
  };
  /// -log p of the targets that are not `ignored`; the logits are never held as a whole.
  Loss loss(const torch::Tensor& features, const torch::Tensor& targets, const torch::Tensor& head,
            int64_t ignored) const;

  void reset() override;

  torch::Tensor clusters;  ///< [clusters, D]: rows of the head for "a word of cluster i"
  std::vector<torch::Tensor> tables, projections;

 private:
  int64_t begin_of(size_t cluster) const { return options_.cutoffs[cluster]; }
  int64_t end_of(size_t cluster) const;
  /// Which of the ids are of the cluster, [k] int64.
  torch::Tensor places_of(const torch::Tensor& ids, size_t cluster) const;

  AdaptiveOptions options_;
  int64_t vocabulary_, width_;
};
TORCH_MODULE(AdaptiveTails);

}  // namespace primal::models
