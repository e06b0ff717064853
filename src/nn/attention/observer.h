// Who is told, on this thread, what the attention of encoder layers sees. For analysis: see nn/record.h.
#pragma once

#include <memory>
#include <optional>

#include "nn/attention/attention.h"

namespace primal::nn {

/// Told from its construction to its end; then the one before it is told again.
class AttentionObserver {
 public:
  AttentionObserver();
  AttentionObserver(const AttentionObserver&) = delete;
  AttentionObserver& operator=(const AttentionObserver&) = delete;
  virtual ~AttentionObserver();

  /// input: [B, N, D], after the norm if that comes first, and mixed if the layer mixes tokens; padding: [B, N] bool
  virtual void saw(const std::shared_ptr<Attention>& attention, const torch::Tensor& input,
                   const std::optional<torch::Tensor>& padding) = 0;

  /// Asked after saw(): what takes the place of the attention's output, [B, N, D]; nothing: it is left as it is.
  virtual std::optional<torch::Tensor> output_instead(const std::shared_ptr<Attention>& /*attention*/,
                                                      const torch::Tensor& /*input*/,
                                                      const std::optional<torch::Tensor>& /*padding*/) {
    return std::nullopt;
  }

  /// Null when nobody wants to know.
  static AttentionObserver* current();

 private:
  AttentionObserver* before_;
};

}  // namespace primal::nn
