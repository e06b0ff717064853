#include "nn/attention/window.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "ops/softmax_attention/softmax_attention.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

// Queries in blocks of `size`; the keys of a block reach from `behind` before its first query to `ahead` after its
// last, so that key c of a block stands c - behind tokens after the block's first query.
struct WindowBlocks {
  WindowReach reach;
  int64_t queries, before;  // T, S
  int64_t size, count;

  int64_t keys() const { return reach.behind + size + reach.ahead; }
};

WindowBlocks window_blocks(int64_t queries, int64_t before, WindowReach reach) {
  // No token stands further away than the sequence is long.
  reach = {.behind = std::min(reach.behind, before + queries - 1), .ahead = std::min(reach.ahead, queries - 1)};
  // A block as long as the reach makes two thirds of the scores useful; longer ones waste more, shorter ones copy more.
  const int64_t size = std::clamp<int64_t>(std::max(reach.behind, reach.ahead), 1, queries);
  return {.reach = reach, .queries = queries, .before = before, .size = size, .count = (queries + size - 1) / size};
}

// [B, S + T, ...] along `axis` -> [B, ..., count, ..., keys]: what each block looks at, outside of the sequence `fill`
torch::Tensor keys_of_blocks(const torch::Tensor& x, int64_t axis, const WindowBlocks& blocks, const at::Scalar& fill) {
  const int64_t front = blocks.reach.behind - blocks.before;
  const int64_t back = blocks.count * blocks.size - blocks.queries + blocks.reach.ahead;
  std::vector<int64_t> margins(2 * (x.dim() - axis), 0);  // of the axes from the last one on
  margins[margins.size() - 2] = front;
  margins[margins.size() - 1] = back;
  return at::constant_pad_nd(x, margins, fill).unfold(axis, blocks.keys(), blocks.size);
}

// [B, H, ...] -> [B count, H, keys, d]
torch::Tensor folded_keys(const torch::Tensor& x, const WindowBlocks& blocks) {
  return keys_of_blocks(x, 2, blocks, 0).permute({0, 2, 1, 4, 3}).reshape({-1, x.size(1), blocks.keys(), x.size(3)});
}

// [B count, 1, size, keys], true = look
torch::Tensor looked_at_in_blocks(const WindowBlocks& blocks, const torch::Tensor& padding) {
  const torch::Tensor ahead = at::arange(blocks.keys(), padding.device()) - blocks.reach.behind -
                              at::arange(blocks.size, padding.device()).unsqueeze(1);
  const torch::Tensor near = ahead.ge(-blocks.reach.behind).logical_and(ahead.le(blocks.reach.ahead));
  const torch::Tensor real =
      keys_of_blocks(padding, 1, blocks, true).logical_not().unsqueeze(2);  // [B, count, 1, keys]
  return real.logical_and(near).logical_or(ahead.eq(0)).flatten(0, 1).unsqueeze(1);
}

class WindowMixing : public ValueMixing {
 public:
  explicit WindowMixing(const AttentionOptions& o)
      : reach_(o.causal ? WindowReach{.behind = o.window.tokens}
                        : WindowReach{.behind = o.window.tokens / 2, .ahead = o.window.tokens / 2}),
        dropout_(o.dropout),
        masking_(o.masking) {}

  torch::Tensor mix(torch::nn::Module& module, const Heads& heads,
                    const std::optional<torch::Tensor>& padding) const override {
    const double dropout = module.is_training() ? dropout_ : 0;
    // Ours gives padded tokens 0; with the published masking they get what they see.
    const bool is_right = !padding || masking_ == Masking::right;
    if (ops::has_softmax_attention(heads.q, dropout) && is_right) {
      return ops::softmax_attention({.q = heads.q,
                                     .k = heads.k,
                                     .v = heads.v,
                                     .padding = padding,
                                     .reach = {.behind = reach_.behind, .ahead = reach_.ahead},
                                     .dropout = dropout});
    }
    return window_attention(heads, padding, reach_, dropout);
  }

  // past: keys and values of the last tokens, [B, H, S, d], and which of them are padded, [B, S]
  torch::Tensor step(torch::nn::Module& /*module*/, const Heads& heads, Past& past,
                     const std::optional<torch::Tensor>& padding) const override {
    Past seen = {
        heads.k, heads.v,
        padding ? *padding : at::zeros({heads.k.size(0), heads.k.size(2)}, heads.k.options().dtype(at::kBool))};
    if (!past.empty()) {
      seen = {at::cat({past[0], seen[0]}, 2), at::cat({past[1], seen[1]}, 2), at::cat({past[2], seen[2]}, 1)};
    }
    const int64_t tokens = seen[2].size(1), kept = std::min(tokens, reach_.behind);
    // Copies: a view would keep all tokens of a long first step.
    const auto last = [&](const torch::Tensor& x, int64_t axis) {
      return x.narrow(axis, tokens - kept, kept).clone(at::MemoryFormat::Contiguous);
    };
    past = {last(seen[0], 2), last(seen[1], 2), last(seen[2], 1)};
    return window_attention({.q = heads.q, .k = seen[0], .v = seen[1]}, seen[2], reach_);
  }

 private:
  WindowReach reach_;
  double dropout_;
  Masking masking_;
};

}  // namespace

torch::Tensor window_attention(const Heads& heads, const std::optional<torch::Tensor>& padding, WindowReach reach,
                               double dropout) {
  const torch::Tensor& q = heads.q;
  const int64_t batch = q.size(0), queries = q.size(2), tokens = heads.k.size(2);
  if (q.numel() == 0) return at::zeros_like(q);
  const WindowBlocks blocks = window_blocks(queries, tokens - queries, reach);
  const torch::Tensor hidden = padding ? *padding : at::zeros({batch, tokens}, q.options().dtype(at::kBool));
  const torch::Tensor filled = at::constant_pad_nd(q, {0, 0, 0, blocks.count * blocks.size - queries});
  const torch::Tensor folded = filled.unflatten(2, {blocks.count, blocks.size}).transpose(1, 2).flatten(0, 1);
  const torch::Tensor out = at::scaled_dot_product_attention(
      folded, folded_keys(heads.k, blocks), folded_keys(cleared(heads.v, padding), blocks),
      looked_at_in_blocks(blocks, hidden), dropout);  // [B count, H, size, d]
  return out.unflatten(0, {batch, blocks.count}).transpose(1, 2).flatten(2, 3).narrow(2, 0, queries);
}

std::unique_ptr<Attention> make_window_attention(const AttentionOptions& options) {
  check_options("window", options);
  if (const int64_t tokens = options.window.tokens; tokens < 2 || tokens % 2 != 0) {
    throw Error(c10::str("window_attention: tokens must be even and at least 2, got ", tokens));
  }
  return make_value_mixing_attention(options, std::make_shared<WindowMixing>(options));
}

}  // namespace primal::nn
