// Whether a task cares for the scores of a primal layer: others take their place while the model runs.
//
//   const KsvdIntervention best(layer->attention, InsteadOfScores::best_pairs);
//   const Evaluation evaluation = task.evaluate(Part::test);  // on this thread
#pragma once

#include <cstdint>
#include <memory>

#include "analysis/ksvd_directions.h"
#include "nn/attention/observer.h"

namespace primal::analysis {

/// From its construction to its end, on this thread. Each sample gets directions of its own. Only whole passes are
/// changed, no step of decoding. Not for causal layers, whose tokens the pairs of a whole sequence would tell of the
/// future: see ksvd_replacement.h.
class KsvdIntervention : public nn::AttentionObserver {
 public:
  /// Throws Error for an attention that is causal or has no such scores.
  KsvdIntervention(std::shared_ptr<nn::Attention> attention, InsteadOfScores instead, uint64_t seed = 0);

  void saw(const std::shared_ptr<nn::Attention>& attention, const torch::Tensor& input,
           const std::optional<torch::Tensor>& padding) override;
  std::optional<torch::Tensor> output_instead(const std::shared_ptr<nn::Attention>& attention,
                                              const torch::Tensor& input,
                                              const std::optional<torch::Tensor>& padding) override;

  /// Calls that were changed.
  int64_t calls() const { return calls_; }

 private:
  std::shared_ptr<nn::Attention> attention_;
  InsteadOfScores instead_;
  at::Generator generator_;
  int64_t calls_ = 0;
};

}  // namespace primal::analysis
