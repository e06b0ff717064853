// Our layers in a torch::nn::Sequential, which hands one tensor from module to module.
//
//   torch::nn::Sequential net(torch::nn::Linear(8, 32), primal::TensorOutput(primal::EncoderLayer(options)),
//                             torch::nn::Linear(32, 2));
//   auto out = net->forward(x);
//   auto loss = task_loss(out) + primal::ksvd_loss(primal::collect_terms(*net), /*eta=*/0.1);
//
// As the last module, and in a torch::nn::AnyModule, a layer needs no wrapper: any.forward<primal::AttentionOutput>(x).
#pragma once

#include <torch/nn/modules/container/any.h>

#include <optional>
#include <vector>

#include "primal/encoder_layer.h"

namespace primal {

/// A layer of which forward gives the output alone. The KSVD terms are kept.
class PRIMAL_API TensorOutputImpl : public torch::nn::Cloneable<TensorOutputImpl> {
 public:
  explicit TensorOutputImpl(PrimalAttention layer);
  explicit TensorOutputImpl(EncoderLayer layer);

  torch::Tensor forward(const torch::Tensor& x);  ///< [B, N, D] -> [B, N, D]
  void reset() override;

  std::optional<KsvdTerms> terms;  ///< of the last call, with their graph
  torch::nn::AnyModule layer;

 private:
  void register_layer();
};
TORCH_MODULE(TensorOutput);

/// Takes the KSVD terms of the last call out of every TensorOutput of a model, in the order of its modules. Throws
/// Error if there is none.
PRIMAL_API std::vector<KsvdTerms> collect_terms(torch::nn::Module& model);

}  // namespace primal
