// The arguments of torch.ops.primal.attention, as a struct and as the parameter list of the dispatcher.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

namespace primal::ops {

using OptionalTensor = std::optional<at::Tensor>;

/// What kind of Primal-Attention it is. Every switch is documented at PrimalAttentionOptions (primal/attention.h).
struct AttentionMode {
  std::string feature_map = "cosine";
  bool causal = false;
  bool data_dependent = true;
  bool respect_padding = true;
  bool trace_on_data = false;
  std::string sampling = "exact";
};

/// In the order of the schema. B batch, N tokens, D width, H heads, d = D / H, p features, s rank, n sampled rows.
struct AttentionArguments {
  at::Tensor query;              // [B, Nq, D]
  OptionalTensor key;            // [B, Nk, D]; absent: self-attention
  at::Tensor q_weight;           // [D, D]
  OptionalTensor q_bias;         // [D]
  at::Tensor k_weight;           // [D, D]
  OptionalTensor k_bias;         // [D]
  at::Tensor we, wr;             // [H, n, s] data-dependent, [H, p, s] data-independent
  at::Tensor lam;                // [H, s], Lambda itself: positive
  at::Tensor score_weight;       // [d, 2s]
  OptionalTensor score_bias;     // [d]
  at::Tensor out_weight;         // [D, D]
  OptionalTensor out_bias;       // [D]
  OptionalTensor query_padding;  // [B, Nq] bool, true = padded
  OptionalTensor key_padding;    // [B, Nk] bool; cross-attention only
  OptionalTensor log_scale;      // [G], G divides D: causal only, q and k fade (ops/fading_mean.h)
  AttentionMode mode;

  int64_t heads() const { return we.size(0); }
  const at::Tensor& keys() const { return key ? *key : query; }
  const OptionalTensor& keys_padding() const { return key ? key_padding : query_padding; }
  /// Of self-attention: the tokens that count for nothing.
  OptionalTensor left_out() const { return mode.respect_padding ? query_padding : std::nullopt; }
  /// Whether q and k are running means. The projection is linear, so the mean of the tokens serves as well: q of the
  /// mean is the mean of q.
  bool averages_tokens() const { return mode.causal && !log_scale; }
};

// The same list as parameters and as arguments, for the five functions that the dispatcher calls with it
// (implementation, Meta, Autograd, Autocast, backward). A struct cannot cross the dispatcher.
#define PRIMAL_ATTENTION_PARAMETERS                                                                                    \
  const at::Tensor &query, const OptionalTensor &key, const at::Tensor &q_weight, const OptionalTensor &q_bias,        \
      const at::Tensor &k_weight, const OptionalTensor &k_bias, const at::Tensor &we, const at::Tensor &wr,            \
      const at::Tensor &lam, const at::Tensor &score_weight, const OptionalTensor &score_bias,                         \
      const at::Tensor &out_weight, const OptionalTensor &out_bias, const OptionalTensor &query_padding,               \
      const OptionalTensor &key_padding, const OptionalTensor &log_scale, const std::string &feature_map, bool causal, \
      bool data_dependent, bool respect_padding, bool trace_on_data, const std::string &sampling

#define PRIMAL_ATTENTION_ARGUMENTS                                                                                \
  query, key, q_weight, q_bias, k_weight, k_bias, we, wr, lam, score_weight, score_bias, out_weight, out_bias,    \
      query_padding, key_padding, log_scale, feature_map, causal, data_dependent, respect_padding, trace_on_data, \
      sampling

#define PRIMAL_ATTENTION_STRUCT                                                                                  \
  AttentionArguments {                                                                                           \
    query, key, q_weight, q_bias, k_weight, k_bias, we, wr, lam, score_weight, score_bias, out_weight, out_bias, \
        query_padding, key_padding, log_scale, {                                                                 \
      feature_map, causal, data_dependent, respect_padding, trace_on_data, sampling                              \
    }                                                                                                            \
  }

// The struct's fields in the same order, to hand it on to the dispatcher.
#define PRIMAL_ATTENTION_FIELDS(a)                                                                                   \
  (a).query, (a).key, (a).q_weight, (a).q_bias, (a).k_weight, (a).k_bias, (a).we, (a).wr, (a).lam, (a).score_weight, \
      (a).score_bias, (a).out_weight, (a).out_bias, (a).query_padding, (a).key_padding, (a).log_scale,               \
      (a).mode.feature_map, (a).mode.causal, (a).mode.data_dependent, (a).mode.respect_padding,                      \
      (a).mode.trace_on_data, (a).mode.sampling

}  // namespace primal::ops
