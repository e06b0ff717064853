#include "nn/attention/performer.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "nn/attention/kernel_sums.h"
#include "nn/attention/random_features.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr double kFeatureSumFloor = 1e-6;  // published: added to the sum of the features of a causal pass
// The exponent of a causal key is at most |w|^2 / 2, about d / 2, but for this: sums of features stay in float32.
constexpr double kLargestExponent = 60;
// A whole number below it survives a module that is cast to float32.
constexpr int64_t kSeeds = int64_t{1} << 24;

torch::Tensor feature_exponent(const torch::Tensor& x, const torch::Tensor& directed) {
  return directed - x.square().sum(-1, /*keepdim=*/true) / 2;
}

torch::Tensor query_features(const torch::Tensor& x, const PerformerMath& math) {
  const torch::Tensor directed = x.matmul(math.directions.t());
  return (feature_exponent(x, directed) - directed.detach().amax(-1, /*keepdim=*/true)).exp() + math.epsilon;
}

// 0 at padded tokens.
torch::Tensor key_features(const torch::Tensor& x, const PerformerMath& math,
                           const std::optional<torch::Tensor>& padding) {
  torch::Tensor directed = x.matmul(math.directions.t());
  if (padding) {  // exp(-infinity) is 0, and so is its slope
    const torch::Tensor padded = padding->unsqueeze(1).unsqueeze(-1);
    directed = directed.masked_fill(padded, -std::numeric_limits<double>::infinity());
  }
  if (math.causal)
    return cleared(feature_exponent(x, directed).clamp_max(kLargestExponent).exp() + math.epsilon, padding);
  const torch::Tensor largest = directed.detach().amax({-2, -1}, /*keepdim=*/true);
  // -infinity: of a sample without any token
  const torch::Tensor finite = largest.masked_fill(largest.isinf(), 0);
  return cleared((feature_exponent(x, directed) - finite).exp() + math.epsilon, padding);
}

}  // namespace

torch::Tensor performer_attention(const Heads& heads, const PerformerMath& math,
                                  const std::optional<torch::Tensor>& padding, Past* past) {
  const bool published = math.masking == Masking::published;
  const double scale = std::pow(static_cast<double>(heads.q.size(3)), published ? -0.5 : -0.25);
  const torch::Tensor a = query_features(heads.q * scale, math);
  const torch::Tensor b = key_features(cleared(heads.k, padding) * scale, math, published ? std::nullopt : padding);
  const torch::Tensor v = with_ones(cleared(heads.v, padding));
  // 1 / sqrt(m) in both features cancels, but for the floor below.
  if (!math.causal) return means_of(sums_over_all(a, b, v));
  const double root = std::sqrt(static_cast<double>(math.directions.size(0)));
  const torch::Tensor floor = a.sum(-1, /*keepdim=*/true) * (kFeatureSumFloor * root);
  if (past == nullptr) return means_of(sums_over_past(a, b, v), floor);
  past->resize(1);
  return means_of(sums_over_past(a, b, v, past->data()), floor);
}

namespace {

class PerformerMixing : public ValueMixing {
 public:
  explicit PerformerMixing(const AttentionOptions& o)
      : own_(o.performer), width_(o.width / o.heads), causal_(o.causal), masking_(o.masking) {}

  void add_parameters(torch::nn::Module& module) const override {
    const torch::Tensor seed = own_.seed ? torch::full({}, static_cast<int64_t>(*own_.seed), torch::kLong)
                                         : torch::randint(kSeeds, {}, torch::kLong);
    module.register_buffer("seed", seed);
    module.register_buffer("passes", torch::zeros({}, torch::kLong));
    module.register_buffer("directions", drawn(module, 0).to(at::get_default_dtype_as_scalartype()));
  }

  torch::Tensor mix(torch::nn::Module& module, const Heads& heads,
                    const std::optional<torch::Tensor>& padding) const override {
    if (module.is_training() && own_.redraw > 0) count_pass(module);
    return performer_attention(heads, math(module, heads), padding);
  }

  torch::Tensor step(torch::nn::Module& module, const Heads& heads, Past& past,
                     const std::optional<torch::Tensor>& padding) const override {
    return performer_attention(heads, math(module, heads), padding, &past);
  }

 private:
  torch::Tensor drawn(const torch::nn::Module& module, int64_t draw) const {
    const auto seed = static_cast<uint64_t>(tensor_of(module, "seed").item<int64_t>());
    return random_directions(own_.features, width_, seed, static_cast<uint64_t>(draw));
  }

  void count_pass(torch::nn::Module& module) const {
    const torch::NoGradGuard no_grad;
    torch::Tensor passes = tensor_of(module, "passes");
    const auto before = passes.item<int64_t>();
    if (before > 0 && before % own_.redraw == 0) {
      // Not written into: the pass before may still need its directions for its gradient.
      tensor_of(module, "directions")
          .set_data(drawn(module, before / own_.redraw).to(tensor_of(module, "directions").options()));
    }
    passes.fill_(before + 1);
  }

  PerformerMath math(const torch::nn::Module& module, const Heads& heads) const {
    return {.directions = tensor_of(module, "directions").to(heads.q.scalar_type()),
            .epsilon = own_.epsilon,
            .causal = causal_,
            .masking = masking_};
  }

  PerformerKindOptions own_;
  int64_t width_;
  bool causal_;
  Masking masking_;
};

}  // namespace

std::unique_ptr<Attention> make_performer_attention(const AttentionOptions& options) {
  check_options("performer", options);
  const PerformerKindOptions& o = options.performer;
  const auto fail = [](const auto&... parts) { throw Error(c10::str("performer_attention: ", parts...)); };
  if (o.features < 1) fail("features must be at least 1, got ", o.features);
  if (o.redraw < 0) fail("redraw must be at least 0, got ", o.redraw);
  if (!(o.epsilon >= 0)) fail("epsilon must be at least 0, got ", o.epsilon);
  return make_value_mixing_attention(options, std::make_shared<PerformerMixing>(options));
}

}  // namespace primal::nn
