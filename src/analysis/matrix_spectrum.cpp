#include "analysis/matrix_spectrum.h"

#include <ATen/ATen.h>
#include <ATen/TensorIndexing.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analysis/ksvd_factors.h"
#include "analysis/matrix_curves.h"
#include "nn/record.h"
#include "primal/error.h"

namespace primal::analysis {

namespace {

using at::Tensor;

// Of a sample: the tokens that the layer mixes.
Tensor real_tokens(const nn::Attention& attention, const Tensor& x, const std::optional<Tensor>& padding) {
  if (!padding || attention.sees_padding()) return at::arange(x.size(1), x.options().dtype(at::kLong));
  return padding->select(0, 0).logical_not().nonzero().squeeze(1);
}

// A layer computes in the dtype of its weights, where autocast may have made its input shorter.
Tensor as_weights(const Tensor& x, const nn::Attention& attention) {
  const auto parameters = attention.module()->parameters();
  return parameters.empty() ? x : x.to(parameters.front().scalar_type());
}

constexpr const char* kNotFinite = "its numbers are not finite";

SingularValues numbers(const Tensor& values) {
  const Tensor row = values.to(at::kDouble).contiguous();
  return {row.const_data_ptr<double>(), row.const_data_ptr<double>() + row.numel()};
}

// The matrices of one layer, as far as the limits go.
class LayerMatrices {
 public:
  LayerMatrices(const nn::AttentionRecord& first, const MatrixLimits& limits) : limits_(limits) {
    const nn::AttentionOptions& o = first.attention->options();
    facts_.layer = first.name;
    facts_.kind = o.kind;
    facts_.features = o.width / o.heads;
    heads_.resize(static_cast<size_t>(o.heads));
  }

  void add(const nn::AttentionRecord& call) {
    for (int64_t b = 0; b < call.input.size(0) && !is_full_; ++b) {
      const Tensor x = call.input.narrow(0, b, 1);
      const auto padding = call.padding ? std::optional(call.padding->narrow(0, b, 1)) : std::nullopt;
      add_sample(*call.attention, x, padding);
    }
  }

  run::MatrixFacts facts() {
    if (facts_.samples == 0 && facts_.left_out.empty()) facts_.left_out = why_empty();
    if (!facts_.left_out.empty()) return facts_;
    std::vector<SingularValues> all;
    size_t most = 1;
    for (const auto& head : heads_) {
      for (const SingularValues& values : head) most = std::max(most, values.size());
      all.insert(all.end(), head.begin(), head.end());
    }
    facts_.places = shown_places(static_cast<int64_t>(most));
    facts_.all = matrix_curves(all, facts_.places, /*with_deviations=*/true);
    for (const auto& head : heads_) facts_.heads.push_back(matrix_curves(head, facts_.places, false));
    return std::move(facts_);
  }

 private:
  void add_sample(nn::Attention& attention, const Tensor& x, const std::optional<Tensor>& padding) {
    const int64_t tokens = real_tokens(attention, x, padding).numel();
    if (tokens == 0) return;
    const PrimalAttentionImpl* primal = attention.primal();
    if (tokens > longest(primal != nullptr)) {
      too_long_ = std::max(too_long_, tokens);
      return;
    }
    const bool is_spare = tokens > limits_.longest;
    if (is_spare && facts_.samples > 0) return;
    if (!is_spare && has_spare_) drop_spare();
    if (facts_.samples > 0 && limits_.tokens > 0 && tokens_ + tokens > limits_.tokens) {
      is_full_ = true;
      return;
    }
    primal != nullptr ? add_kernel(*primal, x, padding) : add_attention(attention, x, padding);
    if (!facts_.left_out.empty()) return;
    tokens_ += tokens;
    facts_.tokens = std::max(facts_.tokens, tokens);
    has_spare_ = is_spare;
    is_full_ = ++facts_.samples >= limits_.samples && !is_spare;
  }

  void drop_spare() {
    for (auto& head : heads_) head.clear();
    facts_.samples = facts_.tokens = tokens_ = 0;
    has_spare_ = false;
  }

  void add_kernel(const PrimalAttentionImpl& layer, const Tensor& x, const std::optional<Tensor>& padding) {
    try {
      const auto factors = ksvd_factors(layer, x, padding);
      if (!factors->singular_values.isfinite().all().item<bool>()) return leave_out(kNotFinite);
      facts_.features = factors->singular_values.size(2);
      for (size_t h = 0; h < heads_.size(); ++h) {
        heads_[h].push_back(numbers(factors->singular_values[0][static_cast<int64_t>(h)]));
      }
    } catch (const Error& too_wide) {
      leave_out(too_wide.what());
    } catch (const c10::LinAlgError&) {
      leave_out(kNotFinite);
    }
  }

  void add_attention(nn::Attention& attention, const Tensor& x, const std::optional<Tensor>& padding) {
    const Tensor matrix = attention_matrix(attention, x, padding);
    if (!matrix.defined()) return leave_out("this kind of attention mixes no values");
    if (!matrix.isfinite().all().item<bool>()) return leave_out(kNotFinite);
    for (size_t h = 0; h < heads_.size(); ++h) {
      heads_[h].push_back(numbers(at::linalg_svdvals(matrix[static_cast<int64_t>(h)].to(at::kDouble))));
    }
  }

  void leave_out(std::string reason) {
    facts_.left_out = std::move(reason);
    is_full_ = true;
  }

  int64_t longest(bool is_kernel) const { return is_kernel ? limits_.longest_kernel : limits_.longest; }

  std::string why_empty() const {
    if (too_long_ == 0) return "no sample has a token";
    return std::to_string(too_long_) + " tokens, of more than " + std::to_string(longest(facts_.is_primal())) +
           " no spectrum is made";
  }

  MatrixLimits limits_;
  run::MatrixFacts facts_;
  std::vector<std::vector<SingularValues>> heads_;  // [H][samples]
  int64_t tokens_ = 0, too_long_ = 0;
  bool is_full_ = false;
  bool has_spare_ = false;  // the one sample so far is longer than an attention matrix would be made of
};

}  // namespace

std::string describe(const MatrixLimits& limits) {
  std::string text = "at most " + std::to_string(limits.samples) + " samples of a layer";
  if (limits.tokens > 0) text += " and " + std::to_string(limits.tokens) + " tokens together";
  return text + ", none of more than " + std::to_string(limits.longest) +
         " (kernel matrices: " + std::to_string(limits.longest_kernel) + ")";
}

Tensor attention_matrix(nn::Attention& attention, const Tensor& x, const std::optional<Tensor>& padding) {
  const at::NoGradGuard no_grad;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const nn::ValueMap map = attention.value_map(as_weights(x, attention), padding);
  if (!map) return {};
  const int64_t tokens = x.size(1), heads = attention.options().heads, width = attention.options().width / heads;
  const Tensor real = real_tokens(attention, x, padding);
  const int64_t count = real.numel();
  const auto dtype = as_weights(x, attention).scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  Tensor matrix = at::empty({heads, count, count}, x.options().dtype(dtype));
  for (int64_t first = 0; first < count; first += width) {  // a kind may count on values of the width of its heads
    const int64_t columns = std::min(width, count - first);
    Tensor units = at::zeros({tokens, width}, matrix.options());
    units.index_put_({real.narrow(0, first, columns), at::arange(columns, real.options())}, 1);
    const Tensor mixed = map(units.expand({1, heads, tokens, width}).contiguous());
    matrix.narrow(2, first, columns).copy_(mixed[0].index_select(1, real).narrow(2, 0, columns));
  }
  return matrix;
}

std::vector<run::MatrixFacts> matrix_spectra(torch::nn::Module& model, const std::function<void()>& pass,
                                             const MatrixLimits& limits) {
  std::map<size_t, LayerMatrices> layers;
  nn::listen(model, pass, [&](const nn::AttentionRecord& call) {
    layers.try_emplace(call.layer, call, limits).first->second.add(call);
  });
  std::vector<run::MatrixFacts> matrices;
  for (auto& [index, layer] : layers) matrices.push_back(layer.facts());
  return matrices;
}

}  // namespace primal::analysis
