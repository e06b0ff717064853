// The kind "primal": Primal-Attention behind the interface of all kinds.
#pragma once

#include "nn/attention/attention.h"

namespace primal::nn {

std::unique_ptr<Attention> make_primal_attention(const AttentionOptions& options);

}  // namespace primal::nn
