// Whether a task cares for the scores of a primal layer: others take their place while the model runs.
//
//   const KsvdIntervention best(layer.attention, Scores::best_pairs);
//   const Evaluation evaluation = task.evaluate(Part::test);  // on this thread
#pragma once

#include <cstdint>
#include <memory>

#include "nn/attention/observer.h"

namespace primal::analysis {

/// What e and r become, per sample and head. All but none have the norm of the layer's own scores, and are turned as
/// near to them as a rotation of the columns can, so that the map behind the scores reads what it knows.
enum class InsteadOfScores {
  best_pairs,         ///< the s pairs of largest singular values of the kernel SVD of this very sample
  random_directions,  ///< of random weights
  none,               ///< zeros
};

/// From its construction to its end, on this thread. Only whole passes are changed, no step of decoding, and no causal
/// layer: the pairs of a whole sequence would tell its tokens of the future.
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
