// Token-by-token decoding against the full pass.
#pragma once

#include "nn/attention/kinds.h"
#include "nn/rivals/cases.h"

namespace primal::nn::rivals {

/// Steps of several sizes give what forward gives, for a batch of 2 sequences of 41 tokens with padding at the
/// beginning and in between. options: of a causal layer of width 12
inline void expect_steps_equal_the_pass(const AttentionOptions& options) {
  torch::manual_seed(4);
  const auto attention = make_attention(options);
  attention->module()->to(torch::kDouble);
  attention->module()->eval();
  const Tensor x = torch::randn({2, 41, 12}, torch::kDouble);
  Tensor some = torch::rand({2, 41}) < 0.2;
  some.narrow(1, 0, 3).copy_(torch::tensor({{true, true, true}, {false, true, false}}));
  for (const auto& padding : {std::optional<Tensor>(), std::optional(some)}) {
    const auto state = attention->initial_state(2);
    std::vector<Tensor> parts;
    int64_t begin = 0;
    for (const int64_t more : {1, 1, 2, 0, 20, 1, 15, 1}) {
      const auto mask = padding ? std::optional(padding->narrow(1, begin, more)) : std::nullopt;
      parts.push_back(attention->step(x.narrow(1, begin, more), *state, mask));
      begin += more;
    }
    EXPECT_TRUE(tests::close(at::cat(parts, 1), attention->forward(x, padding).out, 1e-11));
  }
}

/// Padded tokens in front and in between leave no more trace than those behind: the outputs of the real ones are those
/// of the sequence without them.
inline void expect_gaps_leave_no_trace(const Mix& mix) {
  const Heads heads = random_heads(1, 2, 9, 4);
  const Tensor padding = torch::tensor({{true, true, false, false, true, false, false, true, false}});
  const Tensor real = torch::tensor({2, 3, 5, 6, 8});
  const auto only_real = [&](const Tensor& x) { return x.index_select(2, real); };
  const Heads alone{.q = only_real(heads.q), .k = only_real(heads.k), .v = only_real(heads.v)};
  EXPECT_TRUE(tests::close(only_real(mix(heads, padding)), mix(alone, std::nullopt), 1e-12));
}

}  // namespace primal::nn::rivals
