#include <torch/nn/modules/linear.h>

#include <ostream>

#include "nn/primal_attention_arguments.h"
#include "nn/primal_attention_init.h"
#include "ops/attention/attention.h"
#include "primal/attention.h"

namespace primal {

namespace {

constexpr int64_t kRowsPerRank = 10;  // the published default of rank_multi

bool has_data_dependent_weights(const PrimalAttentionOptions& o) { return o.data_dependent.value_or(!o.causal); }

PrimalAttentionOptions completed(PrimalAttentionOptions o) {
  const auto fail = [](const auto&... parts) { throw Error(c10::str("primal_attention: ", parts...)); };
  if (o.width < 1) fail("width must be at least 1, got ", o.width);
  if (o.heads < 1) fail("heads must be at least 1, got ", o.heads);
  if (o.width % o.heads != 0) fail("width ", o.width, " is not divisible by ", o.heads, " heads");
  if (o.rank < 1) fail("rank must be at least 1, got ", o.rank);
  if (o.rows < 0) fail("rows must be at least 1, got ", o.rows);
  o.data_dependent = has_data_dependent_weights(o);
  if (o.causal && has_data_dependent_weights(o)) {
    fail("causal attention needs data-independent weights: data-dependent ones are made from the whole sequence");
  }
  if (o.memory == Memory::decay && !o.causal) fail("memory=decay needs a causal layer: others keep no past");
  if (o.memory_tokens < 1) fail("memory_tokens must be at least 1, got ", o.memory_tokens);
  if (has_data_dependent_weights(o) && o.rows == 0) o.rows = kRowsPerRank * o.rank;
  // A map that is unknown or does not fit the head is an error here, not at the first pass.
  find_feature_map(o.feature_map)->width(o.width / o.heads);
  return o;
}

const char* sampling_name(Sampling sampling) {
  switch (sampling) {
    case Sampling::exact:
      return "exact";
    case Sampling::linspace:
      return "linspace";
    case Sampling::legacy:
      return "legacy";
  }
  throw Error("primal_attention: unknown sampling");
}

const char* projections_name(Projections projections) {
  switch (projections) {
    case Projections::both:
      return "both";
    case Projections::right:
      return "right";
    case Projections::left:
      return "left";
  }
  throw Error("primal_attention: unknown projections");
}

int64_t output_scores(const PrimalAttentionOptions& o) {
  return o.projections == Projections::both ? 2 * o.rank : o.rank;
}

// As the operators take it, [d, 2 s]: scores that are not in the output have weights of zero there.
torch::Tensor score_weight(const PrimalAttentionImpl& m) {
  const PrimalAttentionOptions& o = m.options();
  if (o.projections == Projections::both) return m.score_proj->weight;
  const bool has_e = o.projections == Projections::right;
  return at::constant_pad_nd(m.score_proj->weight, {has_e ? 0 : o.rank, has_e ? o.rank : 0}, 0);
}

std::optional<torch::Tensor> bias_of(const torch::nn::Linear& linear) {
  return linear->bias.defined() ? std::optional(linear->bias) : std::nullopt;
}

}  // namespace

ops::AttentionArguments nn::attention_arguments(const PrimalAttentionImpl& m, const torch::Tensor& query,
                                                const AttentionInputs& inputs) {
  if (!query.defined()) throw Error("primal_attention: query is not a tensor");
  const PrimalAttentionOptions& o = m.options();
  return {query,
          inputs.key,
          m.q_proj->weight,
          bias_of(m.q_proj),
          m.k_proj->weight,
          bias_of(m.k_proj),
          m.we,
          m.wr,
          m.lambda(),
          score_weight(m),
          bias_of(m.score_proj),
          m.out_proj->weight,
          bias_of(m.out_proj),
          inputs.query_padding,
          inputs.key_padding,
          m.log_scale.defined() ? std::optional(m.log_scale) : std::nullopt,
          {o.feature_map, o.causal, has_data_dependent_weights(o), o.padding == Padding::respect,
           o.trace == Trace::data_dependent, sampling_name(o.sampling)}};
}

PrimalAttentionImpl::PrimalAttentionImpl(PrimalAttentionOptions options) : options_(completed(std::move(options))) {
  reset();
}

void PrimalAttentionImpl::reset() {
  const PrimalAttentionOptions& o = options_;
  const int64_t head_width = o.width / o.heads;
  const auto linear = [&](const char* name, int64_t in, int64_t out) {
    return register_module(name, torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(o.bias)));
  };
  q_proj = linear("q_proj", o.width, o.width);
  k_proj = linear("k_proj", o.width, o.width);
  score_proj = linear("score_proj", output_scores(o), head_width);
  out_proj = linear("out_proj", o.width, o.width);
  const int64_t rows = has_data_dependent_weights(o) ? o.rows : find_feature_map(o.feature_map)->width(head_width);
  we = register_parameter("we", torch::empty({o.heads, rows, o.rank}));
  wr = register_parameter("wr", torch::empty({o.heads, rows, o.rank}));
  lam = register_parameter("lam", torch::empty({o.heads, o.rank}));
  if (o.memory == Memory::decay) log_scale = register_parameter("log_scale", torch::empty({o.heads}));
  reset_scores();
}

void PrimalAttentionImpl::reset_parameters() {
  for (auto& linear : {q_proj, k_proj, score_proj, out_proj}) torch::nn::Linear(linear)->reset_parameters();
  reset_scores();
}

void PrimalAttentionImpl::reset_scores() {
  nn::init_projection(we, options_.init);
  nn::init_projection(wr, options_.init);
  nn::init_lambda(lam, options_.lambda);
  if (log_scale.defined()) nn::init_log_scale(log_scale, options_.memory_tokens);
}

torch::Tensor PrimalAttentionImpl::lambda() const { return nn::lambda_of(lam, options_.lambda); }

AttentionOutput PrimalAttentionImpl::forward(const torch::Tensor& query, const AttentionInputs& inputs) {
  return nn::with_plain_errors([&]() -> AttentionOutput {
    auto [out, le, lr, tr] = ops::attention(nn::attention_arguments(*this, query, inputs));
    return {out, {le, lr, tr}};
  });
}

AttentionScoreOutput PrimalAttentionImpl::scores(const torch::Tensor& query, const AttentionInputs& inputs) {
  return nn::with_plain_errors([&]() -> AttentionScoreOutput {
    const torch::NoGradGuard no_grad;
    auto [e, r, we_x, wr_x] = ops::attention_scores(nn::attention_arguments(*this, query, inputs));
    return {e, r, we_x, wr_x};
  });
}

State PrimalAttentionImpl::initial_state(int64_t batch) const {
  const auto options = we.options().requires_grad(false);
  const auto sum = [&] { return torch::zeros({batch, options_.width}, options.dtype(torch::kDouble)); };
  return {sum(), sum(), torch::zeros({batch}, options.dtype(torch::kLong))};
}

torch::Tensor PrimalAttentionImpl::step(const torch::Tensor& tokens, State& state,
                                        const std::optional<torch::Tensor>& padding) {
  return nn::with_plain_errors([&] {
    const torch::NoGradGuard no_grad;
    auto [out, q_sum, k_sum, count] = ops::attention_step(
        nn::attention_arguments(*this, tokens, {.query_padding = padding}), state.q_sum, state.k_sum, state.count);
    state = {q_sum, k_sum, count};
    return out;
  });
}

void PrimalAttentionImpl::pretty_print(std::ostream& stream) const {
  const PrimalAttentionOptions& o = options_;
  stream << "primal::PrimalAttention(width=" << o.width << ", heads=" << o.heads << ", rank=" << o.rank;
  if (has_data_dependent_weights(o)) stream << ", rows=" << o.rows;
  stream << ", feature_map=" << o.feature_map;
  // Of the others, those that are not their default.
  if (o.causal) stream << ", causal";
  if (o.memory == Memory::decay) stream << ", memory=decay, memory_tokens=" << o.memory_tokens;
  if (!o.causal && !has_data_dependent_weights(o)) stream << ", data_dependent=false";
  if (o.padding != Padding::respect) stream << ", padding=ignore";
  if (!o.bias) stream << ", bias=false";
  if (o.trace != Trace::raw) stream << ", trace=data_dependent";
  if (o.lambda != LambdaForm::squared) stream << ", lambda=" << (o.lambda == LambdaForm::exp ? "exp" : "softplus");
  if (o.init != Init::reference) stream << ", init=per_head_orthonormal";
  if (o.projections != Projections::both) stream << ", projections=" << projections_name(o.projections);
  if (o.sampling != Sampling::exact) stream << ", sampling=" << sampling_name(o.sampling);
  stream << ")";
}

}  // namespace primal
