// Whether a task cares for the scores of a causal primal layer: other weights take the place of its own.
//
//   const auto seen = ksvd_seen(*model, [&] { model->forward(batch); });
//   const KsvdReplacement best(attention, seen.at(attention), InsteadOfScores::best_pairs);
//   const Evaluation evaluation = task.evaluate(Part::test);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "analysis/ksvd_directions.h"
#include "nn/attention/attention.h"

namespace primal::analysis {

using SeenByLayers = std::map<std::shared_ptr<nn::Attention>, KsvdFactors>;

/// What the causal primal layers of a model see in a pass, all its samples as one. Their weights are the same for every
/// sample, and so are the best ones: of other data than those that are judged, they tell nothing of the future.
SeenByLayers ksvd_seen(torch::nn::Module& model, const std::function<void()>& pass);

/// From its construction to its end the layer has other We and Wr: in whole passes, in steps of decoding, on any
/// thread.
class KsvdReplacement {
 public:
  /// Throws Error unless the attention is causal and primal.
  KsvdReplacement(std::shared_ptr<nn::Attention> attention, const KsvdFactors& seen, InsteadOfScores instead,
                  uint64_t seed = 0);
  KsvdReplacement(const KsvdReplacement&) = delete;
  KsvdReplacement& operator=(const KsvdReplacement&) = delete;
  ~KsvdReplacement();

 private:
  void set(const at::Tensor& we, const at::Tensor& wr);

  std::shared_ptr<nn::Attention> attention_;
  at::Tensor own_we_, own_wr_;
};

}  // namespace primal::analysis
