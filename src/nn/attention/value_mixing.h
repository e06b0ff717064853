// The kinds of the form out_proj(mix(q, k, v)): a kind says what it does between its projections, the rest is here.
//
//   class Mean : public ValueMixing {
//    public:
//     torch::Tensor mix(torch::nn::Module&, const Heads& heads, const std::optional<torch::Tensor>&) const override {
//       return heads.v.mean(2, /*keepdim=*/true).expand_as(heads.v);
//     }
//   };
//   auto attention = make_value_mixing_attention(options, std::make_shared<Mean>());
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <optional>
#include <vector>

#include "nn/attention/attention.h"

namespace primal::nn {

/// Each [B, H, N, d], float32 or float64 whatever the layer computes in: sums over many tokens need the digits.
struct Heads {
  torch::Tensor q, k, v;
};

/// What a kind remembers of the tokens that it has stepped over: empty before the first of them.
using Past = std::vector<torch::Tensor>;

/// What a kind does between its projections. It owns no tensors: a clone of the layer shares it.
class ValueMixing {
 public:
  virtual ~ValueMixing() = default;

  /// Registers what the kind learns or draws, under names of its own.
  virtual void add_parameters(torch::nn::Module& /*module*/) const {}

  /// -> [B, H, N, d]; what it gives for padded tokens does not matter unless the masking is the published one. module
  /// has what add_parameters registered; padding: [B, N] bool, true = padded, given if padding counts.
  virtual torch::Tensor mix(torch::nn::Module& module, const Heads& heads,
                            const std::optional<torch::Tensor>& padding) const = 0;

  /// The same for the next tokens of a causal kind, without gradient; past is moved on.
  virtual torch::Tensor step(torch::nn::Module& module, const Heads& heads, Past& past,
                             const std::optional<torch::Tensor>& padding) const;

  /// See Attention::most_tokens().
  virtual std::optional<int64_t> most_tokens() const { return std::nullopt; }

  /// Whether keys have a projection of their own; else they are the queries.
  virtual bool has_keys() const { return true; }

  /// Whether the projections of the input have biases where options.bias asks for them; that of the output always does.
  virtual bool has_input_biases() const { return true; }
};

class MixedValuesImpl : public torch::nn::Cloneable<MixedValuesImpl> {
 public:
  MixedValuesImpl(AttentionOptions options, std::shared_ptr<const ValueMixing> mixing);

  /// x: [B, N, D]; padding: [B, N] bool, true = padded. Their output is 0 (Masking::right), or the input of their
  /// output projection is (Padding::ignore), or neither (Masking::published).
  torch::Tensor forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding = {});

  /// The next tokens of a causal layer, [B, T, D] -> [B, T, D]
  torch::Tensor step(const torch::Tensor& tokens, Past& past, const std::optional<torch::Tensor>& padding = {});
  /// See Attention::value_map(). It must not outlive the layer.
  ValueMap value_map(const torch::Tensor& x, const std::optional<torch::Tensor>& padding);
  void reset() override;

  torch::nn::Linear q_proj{nullptr}, k_proj{nullptr}, v_proj{nullptr}, out_proj{nullptr};

 private:
  Heads heads(const torch::Tensor& x);
  torch::Tensor mixed(const Heads& heads, const std::optional<torch::Tensor>& padding);
  std::optional<torch::Tensor> counted(const std::optional<torch::Tensor>& padding) const;
  torch::Tensor output(const torch::Tensor& mixed, const torch::Tensor& x, const std::optional<torch::Tensor>& padding);

  AttentionOptions options_;
  std::shared_ptr<const ValueMixing> mixing_;
};
TORCH_MODULE(MixedValues);

/// The attention of a kind; options.kind is its name.
std::unique_ptr<Attention> make_value_mixing_attention(const AttentionOptions& options,
                                                       std::shared_ptr<const ValueMixing> mixing);

/// Throws Error if the options ask for a causal layer.
void refuse_causal(const char* kind, const AttentionOptions& options);

/// The parameter or buffer of that name, which add_parameters has registered.
torch::Tensor tensor_of(const torch::nn::Module& module, const char* name);

/// x: [B, H, N, d], 0 at padded tokens, whatever stands there. padding: [B, N]
torch::Tensor cleared(const torch::Tensor& x, const std::optional<torch::Tensor>& padding);

/// Real tokens of each sample, [B, 1, 1, 1] in the dtype of x; N if there is no padding. x: [B, H, N, d]
torch::Tensor token_counts(const torch::Tensor& x, const std::optional<torch::Tensor>& padding);

}  // namespace primal::nn
