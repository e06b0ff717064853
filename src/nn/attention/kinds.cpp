#include "nn/attention/kinds.h"

#include "nn/attention/primal.h"
#include "nn/attention/softmax.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr AttentionKind kKinds[] = {
    {"primal", "Primal-Attention: linear in the sequence length, with a KSVD term", make_primal_attention},
    {"softmax", "scaled dot products: quadratic in the sequence length", make_softmax_attention},
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
