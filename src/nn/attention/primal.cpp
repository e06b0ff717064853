#include "nn/attention/primal.h"

namespace primal::nn {

namespace {

PrimalAttentionOptions layer_options(const AttentionOptions& o) {
  return {.width = o.width,
          .heads = o.heads,
          .rank = o.primal.rank,
          .rows = o.primal.rows,
          .feature_map = o.primal.feature_map,
          .causal = o.causal,
          .data_dependent = o.primal.data_dependent,
          .padding = o.padding,
          .bias = o.bias,
          .trace = o.primal.trace,
          .lambda = o.primal.lambda,
          .init = o.primal.init,
          .projections = o.primal.projections,
          .sampling = o.primal.sampling,
          .memory = o.primal.memory,
          .memory_tokens = o.primal.memory_tokens};
}

struct SumsOfThePast : AttentionState {
  explicit SumsOfThePast(State first) : sums(std::move(first)) {}

  StateTensors tensors() const override {
    return {{"q_sum", sums.q_sum}, {"k_sum", sums.k_sum}, {"count", sums.count}};
  }
  void load(const StateTensors& tensors) override {
    const auto like = [&](const char* name, const torch::Tensor& now) {
      return state_tensor(tensors, name, now.scalar_type(), now.sizes());
    };
    sums = {.q_sum = like("q_sum", sums.q_sum), .k_sum = like("k_sum", sums.k_sum), .count = like("count", sums.count)};
  }

  State sums;
};

class PrimalKind : public Attention {
 public:
  explicit PrimalKind(const AttentionOptions& options) : Attention(options), layer_(layer_options(options)) {}

  std::shared_ptr<torch::nn::Module> module() const override { return layer_.ptr(); }
  PrimalAttentionImpl* primal() override { return layer_.get(); }

  AttentionResult forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) override {
    auto [out, terms] = layer_->forward(x, {.query_padding = padding});
    return {out, terms};
  }

  std::unique_ptr<AttentionState> initial_state(int64_t batch) const override {
    need_causal();
    return std::make_unique<SumsOfThePast>(layer_->initial_state(batch));
  }

  torch::Tensor step(const torch::Tensor& tokens, AttentionState& state,
                     const std::optional<torch::Tensor>& padding) override {
    need_causal();
    return layer_->step(tokens, own_state<SumsOfThePast>(state).sums, padding);
  }

 private:
  PrimalAttention layer_;
};

}  // namespace

std::unique_ptr<Attention> make_primal_attention(const AttentionOptions& options) {
  return std::make_unique<PrimalKind>(options);
}

}  // namespace primal::nn
