// The kinds of attention by name. A new kind is a file pair in this folder and a line in kinds.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nn/attention/attention.h"

namespace primal::nn {

struct AttentionKind {
  const char* name;
  const char* help;  ///< one line
  std::unique_ptr<Attention> (*make)(const AttentionOptions& options);
};

std::span<const AttentionKind> attention_kind_list();

/// The names, in the order of the list.
std::vector<std::string> attention_kinds();

/// The attention of options.kind with parameters of its own. An Error for a kind that is not in the list, or that
/// cannot do what is asked.
std::unique_ptr<Attention> make_attention(const AttentionOptions& options);

}  // namespace primal::nn
