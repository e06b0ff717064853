#include "nn/attention/kinds.h"

#include "nn/attention/cosformer.h"
#include "nn/attention/cosine.h"
#include "nn/attention/flow.h"
#include "nn/attention/linear.h"
#include "nn/attention/linformer.h"
#include "nn/attention/nystrom.h"
#include "nn/attention/performer.h"
#include "nn/attention/primal.h"
#include "nn/attention/reformer.h"
#include "nn/attention/softmax.h"
#include "nn/attention/window.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr AttentionKind kKinds[] = {
    {"primal", "Primal-Attention: linear in the sequence length, with a KSVD term", make_primal_attention},
    {"softmax", "scaled dot products: quadratic in the sequence length", make_softmax_attention},
    {"linear", "the kernel (elu + 1)(elu + 1): linear in the sequence length", make_linear_attention},
    {"cosine", "cosines without a normaliser: linear in the sequence length", make_cosine_attention},
    {"linformer", "a softmax over learnt mixtures of the tokens, for sequences of limited length",
     make_linformer_attention},
    {"performer", "the softmax kernel by random features (FAVOR+): linear in the sequence length",
     make_performer_attention},
    {"nystrom", "a softmax through landmarks (Nystromformer): linear in the sequence length", make_nystrom_attention},
    {"flow", "flows that are conserved between tokens (Flowformer): linear in the sequence length",
     make_flow_attention},
    {"cosformer", "a kernel that falls off with the distance as a cosine: linear in the sequence length",
     make_cosformer_attention},
    {"window", "a softmax over near tokens (Longformer without global ones): linear in the sequence length",
     make_window_attention},
    {"reformer", "a softmax among tokens of similar hash: linear in the sequence length", make_reformer_attention},
};

}  // namespace

std::span<const AttentionKind> attention_kind_list() { return kKinds; }

std::vector<std::string> attention_kinds() {
  std::vector<std::string> names;
  for (const AttentionKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::unique_ptr<Attention> make_attention(const AttentionOptions& options) {
  std::string known;
  for (const AttentionKind& kind : kKinds) {
    if (kind.name == options.kind) return kind.make(options);
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw Error("attention: expected one of " + known + ", got \"" + options.kind + "\"");
}

}  // namespace primal::nn
