#include "nn/token_mixing.h"

#include <ATen/ATen.h>

#include <cmath>
#include <ostream>

#include "nn/primal_attention_arguments.h"
#include "ops/moving_average/moving_average.h"

namespace primal::nn {

namespace {

// exp(-exp(7)) is 0 in float64: shorter time scales fade as fully, and their slope is 0 and not 0 times infinity.
constexpr double kShortest = -7;

void check_mixing(const TokenMixingOptions& o) {
  const auto fail = [](const auto&... parts) { throw Error(c10::str("token_mixing: ", parts...)); };
  const bool memory = o.memory == LayerMemory::decay;
  if (o.width < 1) fail("width must be at least 1, got ", o.width);
  if (memory && o.scales < 1) fail("scales must be at least 1, got ", o.scales);
  if (memory && o.tokens < 1) fail("tokens must be at least 1, got ", o.tokens);
  if (o.kernel < 0) fail("kernel must be at least 0, got ", o.kernel);
  if (!o.causal && o.kernel > 0 && o.kernel % 2 == 0) {
    fail("a kernel that looks both ways must be odd, so that its token stands in the middle, got ", o.kernel);
  }
  if (!memory && o.kernel == 0) fail("neither a memory nor a kernel: there is nothing to mix");
}

// Tokens of the convolution that stand before the token itself.
int64_t taps_before(const TokenMixingOptions& o) { return o.causal ? o.kernel - 1 : o.kernel / 2; }

void check_tokens(const TokenMixingOptions& o, const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  if (x.dim() != 3 || x.size(2) != o.width) {
    throw Error(c10::str("token_mixing: expected tokens [B, N, ", o.width, "], got ", x.sizes()));
  }
  if (padding && (padding->scalar_type() != at::kBool || padding->sizes() != x.sizes().slice(0, 2))) {
    throw Error(c10::str("token_mixing: expected a bool padding mask ", x.sizes().slice(0, 2), ", got ",
                         padding->scalar_type(), " ", padding->sizes()));
  }
}

void check_past(const torch::Tensor& part, const char* name, const torch::Tensor& tokens, int64_t rows) {
  const std::vector<int64_t> expected{tokens.size(0), rows, tokens.size(2)};
  if (!part.defined()) throw Error(c10::str("token_mixing: the state has no ", name));
  if (part.sizes() != at::IntArrayRef(expected)) {
    throw Error(c10::str("token_mixing: state ", name, " must be ", at::IntArrayRef(expected), ", got ", part.sizes()));
  }
}

// Sums of a few bfloat16 numbers are made in float32.
at::ScalarType wide(const torch::Tensor& x) { return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat; }

}  // namespace

TokenMixingImpl::TokenMixingImpl(TokenMixingOptions options) : options_(options) {
  check_mixing(options_);
  reset();
}

void TokenMixingImpl::reset() {
  const TokenMixingOptions& o = options_;
  if (o.memory == LayerMemory::decay) {
    const int64_t directions = o.causal ? 1 : 2;
    log_scale = register_parameter("log_scale", torch::empty({directions, o.scales, o.width}));
    gain = register_parameter("gain", torch::empty({directions, o.scales, o.width}));
    skip = register_parameter("skip", torch::empty({o.width}));
  }
  if (o.kernel > 0) taps = register_parameter("taps", torch::empty({o.kernel, o.width}));
  reset_parameters();
}

void TokenMixingImpl::reset_parameters() {
  const torch::NoGradGuard no_grad;
  const TokenMixingOptions& o = options_;
  if (log_scale.defined()) {
    // From 1 token to the longest scale, and each channel between its neighbours.
    const torch::Tensor scale = torch::arange(o.scales, torch::kDouble).unsqueeze(1);
    const torch::Tensor channel = torch::arange(o.width, torch::kDouble) / static_cast<double>(o.width);
    const double step = std::log(static_cast<double>(o.tokens)) / static_cast<double>(o.scales);
    log_scale.copy_(((scale + channel) * step).expand_as(log_scale));
    gain.fill_(1.0 / static_cast<double>(gain.size(0) * o.scales));
    skip.fill_(1);
  }
  if (taps.defined()) {
    taps.zero_();
    taps[taps_before(o)].fill_(1);
  }
}

torch::Tensor TokenMixingImpl::forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  check_tokens(options_, x, padding);
  const torch::Tensor convolved =
      options_.kernel == 0 ? x : convolve(padding ? x.masked_fill(padding->unsqueeze(-1), 0) : x, nullptr);
  if (options_.memory == LayerMemory::decay) return average(convolved, padding, nullptr);
  return padding ? convolved.masked_fill(padding->unsqueeze(-1), 0) : convolved;
}

TokenMixingState TokenMixingImpl::initial_state(int64_t batch) const {
  const TokenMixingOptions& o = options_;
  if (!o.causal) throw Error("token_mixing: only a causal mixing has a state");
  TokenMixingState state;
  if (log_scale.defined()) {
    state.sums = torch::zeros({batch, o.scales, o.width}, log_scale.options().requires_grad(false).dtype(at::kDouble));
  }
  if (taps.defined()) state.recent = torch::zeros({batch, o.kernel - 1, o.width}, taps.options().requires_grad(false));
  return state;
}

torch::Tensor TokenMixingImpl::step(const torch::Tensor& tokens, TokenMixingState& state,
                                    const std::optional<torch::Tensor>& padding) {
  if (!options_.causal) throw Error("token_mixing: only a causal mixing has a state");
  check_tokens(options_, tokens, padding);
  const torch::NoGradGuard no_grad;
  TokenMixingState after = state;  // moved on only when all went well
  torch::Tensor mixed = padding ? tokens.masked_fill(padding->unsqueeze(-1), 0) : tokens;
  if (taps.defined()) {
    check_past(state.recent, "recent", tokens, options_.kernel - 1);
    mixed = convolve(mixed, &after.recent);
    if (padding) mixed = mixed.masked_fill(padding->unsqueeze(-1), 0);
  }
  if (log_scale.defined()) {
    check_past(state.sums, "sums", tokens, options_.scales);
    mixed = average(mixed, padding, &after.sums);
  }
  state = after;
  return mixed;
}

// x: 0 at padded tokens. recent: before these tokens, becomes that after them; null: there are none before.
torch::Tensor TokenMixingImpl::convolve(const torch::Tensor& x, torch::Tensor* recent) const {
  const int64_t kernel = options_.kernel, before = taps_before(options_), tokens = x.size(1);
  const torch::Tensor around = recent == nullptr ? at::constant_pad_nd(x, {0, 0, before, kernel - 1 - before})
                                                 : at::cat({recent->to(x.scalar_type()), x}, 1);
  if (recent != nullptr) *recent = around.narrow(1, tokens, kernel - 1).clone();
  const torch::Tensor numbers = around.to(wide(x)), weights = taps.to(wide(x));
  torch::Tensor sum = numbers.narrow(1, 0, tokens) * weights[0];
  for (int64_t k = 1; k < kernel; ++k) sum = sum + numbers.narrow(1, k, tokens) * weights[k];
  return sum.to(x.scalar_type());
}

// sums: before these tokens, becomes that after them; null: there are none before.
torch::Tensor TokenMixingImpl::average(const torch::Tensor& x, const std::optional<torch::Tensor>& padding,
                                       torch::Tensor* sums) const {
  const torch::Tensor scale = log_scale.to(wide(x));
  // gain * (1 - a): a gain of 1 is an average. 1 - a itself would lose its digits for long scales.
  const torch::Tensor weight = gain.to(wide(x)) * scale.clamp_min(kShortest).neg().exp().neg().expm1().neg();
  return with_plain_errors([&] {
    auto [out, after] =
        ops::moving_average({.x = x,
                             .log_scale = scale,
                             .weight = weight,
                             .skip = skip.to(wide(x)),
                             .padding = padding,
                             .state = sums == nullptr ? std::nullopt : std::optional<torch::Tensor>(*sums)});
    if (sums != nullptr) *sums = after;
    return out;
  });
}

void TokenMixingImpl::pretty_print(std::ostream& stream) const {
  const TokenMixingOptions& o = options_;
  stream << "primal::nn::TokenMixing(width=" << o.width;
  if (log_scale.defined()) stream << ", memory=decay, scales=" << o.scales << ", tokens=" << o.tokens;
  if (taps.defined()) stream << ", kernel=" << o.kernel;
  if (o.causal) stream << ", causal";
  stream << ")";
}

}  // namespace primal::nn
