// A layer's parameters and options as the arguments of the operators.
#pragma once

#include "ops/attention/arguments.h"
#include "primal/attention.h"
#include "primal/error.h"

namespace primal::nn {

ops::AttentionArguments attention_arguments(const PrimalAttentionImpl& layer, const torch::Tensor& query,
                                            const AttentionInputs& inputs);

/// The operators throw c10::Error, whose text carries a C++ stack; callers of a module get one line.
template <typename Call>
auto with_plain_errors(const Call& call) {
  try {
    return call();
  } catch (const c10::Error& error) {
    throw Error(error.what_without_backtrace());
  }
}

}  // namespace primal::nn
