// What an encoder layer knows of its attention, whatever the kind. The kinds stand in nn/attention/kinds.cpp.
//
//   auto attention = make_attention({.kind = "softmax", .width = 64, .heads = 4, .causal = true});
//   register_module("attention", attention->module());
//   auto [out, terms] = attention->forward(x, padding);
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <map>
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
  Projections projections = Projections::both;
  Sampling sampling = Sampling::exact;
  Memory memory = Memory::mean;
  int64_t memory_tokens = 1024;
};

/// Read by the kind "linear" only.
struct LinearKindOptions {
  bool normalised = true;  ///< weights of a token add up to 1; else the sum over the tokens is divided by sqrt(N)
};

/// Read by the kind "linformer" only, which also has to know AttentionOptions::tokens.
struct LinformerKindOptions {
  int64_t rows = 256;  ///< that the keys and values of a sequence are mapped to
};

/// Read by the kind "performer" only.
struct PerformerKindOptions {
  int64_t features = 256;  ///< m, random ones
  int64_t redraw = 1000;   ///< forward passes in training after which the features are drawn anew; 0 = never
  double epsilon = 1e-4;   ///< added to every feature: none is 0
  /// Of the features. By default from torch's generator when the layer is made: each layer gets its own.
  std::optional<uint64_t> seed{};
};

/// How the iteration for the inverse begins: scaled by the matrix itself, or by the largest column sum of the whole
/// batch (published), which couples its samples.
enum class NystromStart { per_matrix, original };

/// Read by the kind "nystrom" only.
struct NystromKindOptions {
  int64_t landmarks = 64;  ///< m
  int64_t iterations = 6;  ///< for the inverse of the landmarks' matrix
  int64_t kernel = 35;     ///< tokens of the convolution of the values that is added; odd; 0 = none
  NystromStart start = NystromStart::per_matrix;
};

/// Read by the kind "flow" only.
struct FlowKindOptions {
  /// Of the flow that leaves a source, to +- this. Published: 1 (the method's own file, images), 5 (language), 10
  /// (reinforcement learning), none (time series, Long Range Arena). 1 binds for about half of the tokens.
  std::optional<double> clamp = 1.0;
};

/// Read by the kind "window" only.
struct WindowKindOptions {
  int64_t tokens = 128;  ///< that a token sees beside itself: half of them on each side, or all behind it if causal
};

/// Read by the kind "reformer" only.
struct ReformerKindOptions {
  int64_t hashes = 2;  ///< rounds, which are averaged
  int64_t chunk = 64;  ///< tokens that look at each other and at the chunk before, once sorted by their hash
  uint64_t seed = 1;   ///< of the hashes in evaluation; in training every pass draws its own from torch's generator
};

/// What becomes of padded tokens where they are respected, in the kinds of nn/attention/value_mixing.h: they leave no
/// trace, so that no sequence feels how far it was padded; or as in the published code, kind by kind, which also gives
/// them outputs like any token.
enum class Masking { right, published };

/// What every kind is told; what only one of them reads is a struct with the name of that kind.
struct AttentionOptions {
  std::string kind = "primal";  ///< one of attention_kinds()
  int64_t width = 0;            ///< D
  int64_t heads = 1;            ///< H, divides D
  double dropout = 0;           ///< of the attention weights, where a kind has any: primal has none
  bool causal = false;          ///< a token sees itself and those before it
  bool bias = true;             ///< of the linear maps
  Padding padding = Padding::respect;
  Masking masking = Masking::right;
  int64_t tokens = 0;  ///< longest sequence, for kinds whose parameters depend on it; 0 = not known
  PrimalKindOptions primal{};
  LinearKindOptions linear{};
  LinformerKindOptions linformer{};
  PerformerKindOptions performer{};
  NystromKindOptions nystrom{};
  FlowKindOptions flow{};
  WindowKindOptions window{};
  ReformerKindOptions reformer{};
};

/// Throws Error, with a message that begins with "KIND_attention:", where width, heads or dropout make no sense.
void check_options(const char* kind, const AttentionOptions& options);

struct AttentionResult {
  torch::Tensor out;                 ///< [B, N, D]
  std::optional<KsvdTerms> terms{};  ///< of a primal attention
};

/// A v of each head, for values of any kind: [B, H, N, d] -> [B, H, N, d]. Linear in them, but for dropout.
using ValueMap = std::function<torch::Tensor(const torch::Tensor& values)>;

/// A state by the names of its parts, for a file.
using StateTensors = std::map<std::string, torch::Tensor>;

/// What an attention remembers of the tokens that it has stepped over. Each kind has its own.
struct AttentionState {
  AttentionState() = default;
  AttentionState(const AttentionState&) = delete;
  AttentionState& operator=(const AttentionState&) = delete;
  virtual ~AttentionState() = default;

  /// They share memory with the state.
  virtual StateTensors tensors() const = 0;
  /// Of a fresh state: takes what tensors() gave for a state of the same attention and as many sequences. Throws Error
  /// if it is not of that form.
  virtual void load(const StateTensors& tensors) = 0;
};

/// The tensor of that name, or an Error unless it has the dtype of `like` and its sizes, -1 meaning any. Not the tensor
/// of the file itself, which must not be written to.
torch::Tensor state_tensor(const StateTensors& tensors, const std::string& name, at::ScalarType dtype,
                           at::IntArrayRef sizes);

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

  /// What the attention does to the values of its heads, between their projection and that of the output: its attention
  /// matrix, which is never made. Values are float32, or float64 where x is. Empty: the kind mixes no values.
  virtual ValueMap value_map(const torch::Tensor& x, const std::optional<torch::Tensor>& padding);

  /// Token-by-token decoding, equal to the full causal pass in evaluation mode. Both throw Error where there is none:
  /// for a kind that does not override them, and without options().causal.
  virtual std::unique_ptr<AttentionState> initial_state(int64_t batch) const;
  /// The next tokens, [B, T, D] -> [B, T, D]; state is moved on. No gradient, no dropout. padding: [B, T]
  virtual torch::Tensor step(const torch::Tensor& tokens, AttentionState& state,
                             const std::optional<torch::Tensor>& padding);

  /// The module of the kind "primal", which encoder layers run as one operator; else null.
  virtual PrimalAttentionImpl* primal() { return nullptr; }

  /// Tokens that a sequence may have while it is decoded; nothing: any number.
  virtual std::optional<int64_t> most_tokens() const { return std::nullopt; }

  /// Whether padded tokens count like any other.
  virtual bool sees_padding() const { return options_.padding != Padding::respect; }
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
  /// Throws Error, with a message that begins with "KIND_attention:".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  AttentionOptions options_;
};

}  // namespace primal::nn
