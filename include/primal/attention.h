// Primal-Attention as a LibTorch module: attention with cost linear in the sequence length.
//
//   primal::PrimalAttention layer(primal::PrimalAttentionOptions{.width = 512, .heads = 8, .rank = 30});
//   auto x = torch::randn({4, 1000, 512});                       // [B, N, D]
//   auto [out, terms] = layer->forward(x, {.query_padding = primal::padding_mask(lengths, 1000)});
//   auto loss = task_loss(out) + primal::ksvd_loss({terms}, /*eta=*/0.1);
//   loss.backward();
//
// Symbols: B batch, N tokens, D width, H heads, d = D / H, p features of a head, s rank, n sampled rows.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/common.h>
#include <torch/nn/modules/container/any_value.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <optional>
#include <string>

#include "primal/error.h"
#include "primal/export.h"
#include "primal/feature_map.h"
#include "primal/ksvd.h"

namespace primal {

enum class Padding {
  respect,  ///< padded tokens enter neither weights nor KSVD means, and their output is 0
  ignore,   ///< published: they count like any token; a mask, if given, only zeroes the input of the output projection
};
enum class Trace { raw, data_dependent };             ///< the trace is of We^T Wr, or of (We|X)^T (Wr|X)
enum class LambdaForm { squared, softplus, exp };     ///< Lambda = lam^2 (published), softplus(lam), exp(lam)
enum class Init { reference, per_head_orthonormal };  ///< of We and Wr: see docs/method.md
/// Which scores make the output: e and r, e alone (right), r alone (left). The objective is of both all the same.
enum class Projections { both, right, left };
/// What a causal layer does with the past, before phi: means of q and k in which every token counts the same
/// (published), or in which tokens fade with their age, at a learnt time scale per head (docs/method.md).
enum class Memory { mean, decay };
/// Which rows are sampled: floor(i (N - 1) / (n - 1)), or as integer linspace of PyTorch >= 2.0 (sometimes one lower by
/// rounding) or of PyTorch 1.6 to 1.13 (often one lower), to compare with checkpoints of those.
enum class Sampling { exact, linspace, legacy };

struct PrimalAttentionOptions {
  int64_t width = 0;                     ///< D
  int64_t heads = 1;                     ///< H, divides D
  int64_t rank = 0;                      ///< s
  int64_t rows = 0;                      ///< n, data-dependent weights only; 0 means 10 s
  std::string feature_map = "cosine";    ///< see primal/feature_map.h
  bool causal = false;                   ///< means of q and k over the past; needs data-independent weights
  std::optional<bool> data_dependent{};  ///< weights made from rows of X; default: unless causal
  Padding padding = Padding::respect;
  bool bias = true;  ///< of the four linear maps
  Trace trace = Trace::raw;
  LambdaForm lambda = LambdaForm::squared;
  Init init = Init::reference;
  Projections projections = Projections::both;
  Sampling sampling = Sampling::exact;
  Memory memory = Memory::mean;  ///< decay: causal layers only
  int64_t memory_tokens = 1024;  ///< longest time scale to begin with; log-spaced over the heads from 1 token to it
};

/// What may come with the query.
struct AttentionInputs {
  std::optional<torch::Tensor> key{};            ///< [B, Nk, D]: cross-attention
  std::optional<torch::Tensor> query_padding{};  ///< [B, Nq] bool, true = padded
  std::optional<torch::Tensor> key_padding{};    ///< [B, Nk] bool, with a key only
};

struct AttentionOutput {
  torch::Tensor out;  ///< [B, Nq, D]
  KsvdTerms terms;
};

/// The scores of a pass, for analysis. e: [B, H, Nq, s], r: [B, H, Nk, s], weights: [B or 1, H, p, s]
struct AttentionScoreOutput {
  torch::Tensor e, r, we_x, wr_x;
};

/// All that a causal layer remembers of the past, whatever its length: 2 D numbers and a count per sequence, and what
/// an encoder layer's memory and convolution need. It belongs to the layer that made it: with Memory::decay the sums
/// have faded at that layer's time scales.
struct State {
  torch::Tensor q_sum, k_sum;  ///< [B, D] float64: a float32 sum would drift from the full pass
  torch::Tensor count;         ///< [B] int64
  torch::Tensor sums{};        ///< [B, S, D] float64: of an EncoderLayer with a memory; else undefined
  torch::Tensor recent{};      ///< [B, K - 1, D]: of an EncoderLayer with a kernel; else undefined
};

/// True where token >= length. lengths: [B] integers -> [B, tokens] bool
PRIMAL_API torch::Tensor padding_mask(const torch::Tensor& lengths, int64_t tokens);

class PRIMAL_API PrimalAttentionImpl : public torch::nn::Cloneable<PrimalAttentionImpl> {
 public:
  /// Throws Error for options that do not fit together.
  explicit PrimalAttentionImpl(PrimalAttentionOptions options);

  /// query: [B, N, D] float32, float64 or bfloat16. Throws Error for shapes, dtypes or devices that do not fit.
  AttentionOutput forward(const torch::Tensor& query, const AttentionInputs& inputs = {});
  AttentionScoreOutput scores(const torch::Tensor& query, const AttentionInputs& inputs = {});

  /// Token-by-token decoding of a causal layer, equal to the full pass. No gradient.
  State initial_state(int64_t batch) const;
  /// The next tokens, [B, T, D] -> [B, T, D]; state is moved on.
  torch::Tensor step(const torch::Tensor& tokens, State& state, const std::optional<torch::Tensor>& padding = {});

  /// Lambda of the KSVD objective, positive. -> [H, s]
  torch::Tensor lambda() const;
  const PrimalAttentionOptions& options() const { return options_; }

  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  torch::nn::Linear q_proj{nullptr}, k_proj{nullptr}, score_proj{nullptr}, out_proj{nullptr};
  torch::Tensor we, wr;  ///< [H, n, s] or [H, p, s]
  torch::Tensor lam;     ///< [H, s], in the form of options().lambda
  /// [H]: log of each head's time scale in tokens, with Memory::decay; else undefined.
  torch::Tensor log_scale;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(AttentionInputs())})  // in a torch::nn::AnyModule

 private:
  void reset_scores();

  PrimalAttentionOptions options_;
};
TORCH_MODULE(PrimalAttention);

}  // namespace primal
