// What an encoder layer knows of its attention, whatever the kind. The kinds stand in nn/attention/kinds.cpp.
//
//   auto attention = make_attention({.kind = "softmax", .width = 64, .heads = 4, .causal = true});
//   register_module("attention", attention->module());
//   auto [out, terms] = attention->forward(x, padding);
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <optional>
#include <string>

#include "primal/attention.h"

namespace primal::nn {

/// Read by the kind "primal" only: see PrimalAttentionOptions.
struct PrimalKindOptions {
  int64_t rank = 0;
  int64_t rows = 0;
  std::string feature_map = "cosine";
  std::optional<bool> data_dependent{};
  Trace trace = Trace::raw;
  LambdaForm lambda = LambdaForm::squared;
  Init init = Init::reference;
  Sampling sampling = Sampling::exact;
  Memory memory = Memory::mean;
  int64_t memory_tokens = 1024;
};

/// What every kind is told; what only one of them reads is a struct with the name of that kind.
struct AttentionOptions {
  std::string kind = "primal";  ///< one of attention_kinds()
  int64_t width = 0;            ///< D
  int64_t heads = 1;            ///< H, divides D
  double dropout = 0;           ///< of the attention weights, where a kind has any: primal has none
  bool causal = false;          ///< a token sees itself and those before it
  bool bias = true;             ///< of the linear maps
  Padding padding = Padding::respect;
  int64_t tokens = 0;  ///< longest sequence, for kinds whose parameters depend on it; 0 = not known
  PrimalKindOptions primal{};
};

/// Throws Error, with a message that begins with "KIND_attention:", where width, heads or dropout make no sense.
void check_options(const char* kind, const AttentionOptions& options);

struct AttentionResult {
  torch::Tensor out;                 ///< [B, N, D]
  std::optional<KsvdTerms> terms{};  ///< of a primal attention
};

/// What an attention remembers of the tokens that it has stepped over. Each kind has its own.
struct AttentionState {
  AttentionState() = default;
  AttentionState(const AttentionState&) = delete;
  AttentionState& operator=(const AttentionState&) = delete;
  virtual ~AttentionState() = default;
};

/// Not a module itself, so that the parameters are called attention.q_proj and not attention.inner.q_proj.
class Attention {
 public:
  explicit Attention(AttentionOptions options) : options_(std::move(options)) {}
  Attention(const Attention&) = delete;
  Attention& operator=(const Attention&) = delete;
  virtual ~Attention() = default;

  /// The parameters, to be registered as "attention". A clone of the encoder layer assigns to this object, so an
  /// Attention keeps no tensor of it elsewhere.
  virtual std::shared_ptr<torch::nn::Module> module() const = 0;

  /// x: [B, N, D]; padding: [B, N] bool, true = padded
  virtual AttentionResult forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) = 0;

  /// Token-by-token decoding, equal to the full causal pass in evaluation mode. Both throw Error where there is none:
  /// for a kind that does not override them, and without options().causal.
  virtual std::unique_ptr<AttentionState> initial_state(int64_t batch) const;
  /// The next tokens, [B, T, D] -> [B, T, D]; state is moved on. No gradient, no dropout. padding: [B, T]
  virtual torch::Tensor step(const torch::Tensor& tokens, AttentionState& state,
                             const std::optional<torch::Tensor>& padding);

  /// The module of the kind "primal", which encoder layers run as one operator; else null.
  virtual PrimalAttentionImpl* primal() { return nullptr; }

  /// Whether padded tokens count like any other.
  bool sees_padding() const { return options_.padding != Padding::respect; }
  const AttentionOptions& options() const { return options_; }

 protected:
  /// Throws Error unless the attention is causal, as decoding needs.
  void need_causal() const;
  /// The state as the kind's own type; an Error if it was made by another kind.
  template <typename Own>
  Own& own_state(AttentionState& state) const {
    if (auto* own = dynamic_cast<Own*>(&state)) return *own;
    fail("the state was made by another kind of attention");
  }

 private:
  [[noreturn]] void fail(const char* what) const;

  AttentionOptions options_;
};

}  // namespace primal::nn
