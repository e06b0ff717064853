#include "ops/fused/attention.h"

#include <ATen/ATen.h>

#include <cstdlib>
#include <string_view>

#include "kernels/cpu_features.h"
#include "kernels/cpu_target.h"
#include "ops/fused/tile_space.h"
#include "ops/fused/token_rows.h"
#include "ops/recycled_memory.h"
#include "ops/running_mean.h"

namespace primal::ops::fused {

namespace {

AttentionArguments in_float32(AttentionArguments a) {
  for (at::Tensor* tensor : {&a.q_weight, &a.k_weight, &a.we, &a.wr, &a.lam, &a.score_weight, &a.out_weight}) {
    *tensor = tensor->to(at::kFloat);
  }
  for (OptionalTensor* tensor : {&a.q_bias, &a.k_bias, &a.score_bias, &a.out_bias}) {
    if (*tensor) *tensor = (*tensor)->to(at::kFloat);
  }
  return a;
}

OptionalTensor left_out(const AttentionArguments& a) { return a.mode.respect_padding ? a.query_padding : std::nullopt; }

// What q and k are made from. The projection is linear, so the running mean of the tokens serves for both: q of the
// mean is the mean of q.
at::Tensor projected_tokens(const AttentionArguments& a) {
  return a.mode.causal ? running_mean(a.query.to(at::kFloat), left_out(a)) : a.query.contiguous();
}

// A chunk's rows of x with zeros at padded tokens; x itself where there is none.
const float* cleared(const TokenMask& mask, Range range, int64_t width, const float* x, at::Tensor& space) {
  if (!mask.any(range)) return x;
  if (!space.defined() || space.size(0) < range.size()) space = work_space({range.size(), width});
  std::copy_n(x, range.size() * width, data(space));
  mask.clear(range, width, data(space));
  return data(space);
}

}  // namespace

bool has_kernel_for(at::ScalarType dtype) {
  static const char* const value = std::getenv("PRIMAL_FUSED");
  if (value != nullptr && std::string_view(value) == "0") return false;
  if (dtype == at::kFloat) return true;
  static const bool narrow = (value != nullptr && std::string_view(value) == "1") || !kernels::cpu_has_bfloat16();
  return dtype == at::kBFloat16 && narrow;
}

bool has_kernel(const AttentionArguments& a) {
  const at::ScalarType weights = a.we.scalar_type();
  return !a.key && !a.log_scale && a.mode.feature_map == "cosine" && has_kernel_for(a.query.scalar_type()) &&
         (weights == at::kFloat || (weights == at::kBFloat16 && a.query.scalar_type() == at::kBFloat16));
}

bool can_run(const AttentionArguments& a) { return has_kernel(a) && a.query.is_cpu() && a.query.numel() > 0; }

AttentionForward attention(const AttentionArguments& arguments, bool keep_projected) {
  kernels::use_cpu_target_of_environment();
  const AttentionArguments a = in_float32(arguments);
  const at::Tensor x = projected_tokens(a);
  const SampledRows sampled(a, x);
  const AttentionPass pass(a, sampled.rows, /*forward=*/true);
  const AttentionShape& shape = pass.shape();
  const int64_t width = shape.width, tokens = shape.all_tokens();

  AttentionForward result;
  result.out = recycled_tensor({shape.batch, shape.tokens, width}, a.query.scalar_type());
  if (keep_projected) result.projected = recycled_tensor({shape.batch, shape.tokens, 2 * width}, a.query.scalar_type());
  const at::Tensor le = work_space({tokens}), lr = work_space({tokens});
  const TokenRows input(x), out(result.out);
  const std::optional<TokenRows> kept = keep_projected ? std::optional<TokenRows>(result.projected) : std::nullopt;
  for_each_tile({0, tokens}, pass.tile(), [&](Range tile, int64_t /*index*/) {
    TileSpace space;
    float* projected = kept ? kept->take(tile, space) : space.take(tile.size(), 2 * width);
    float* inverse = space.take(tile.size(), 2 * shape.heads);
    float* scores = space.take(tile.size(), shape.scores());
    pass.project(input.read(tile, space), tile, projected);
    pass.scores(projected, tile, inverse, scores);
    pass.squares(scores, tile, data(le, tile.begin), data(lr, tile.begin));
    float* result_rows = out.take(tile, space);
    pass.output(scores, tile, result_rows);
    out.put(tile, result_rows);
    if (kept) kept->put(tile, projected);
  });
  result.le = pass.mean_of_squares(le);
  result.lr = pass.mean_of_squares(lr);
  result.tr = pass.trace();
  return result;
}

AttentionBackward attention_backward(const AttentionArguments& arguments, const at::Tensor& out_gradient,
                                     const TermGradients& terms, const at::Tensor& projected) {
  kernels::use_cpu_target_of_environment();
  const AttentionArguments a = in_float32(arguments);
  const at::Tensor x = projected_tokens(a), grad = out_gradient.contiguous();
  const SampledRows sampled(a, x);
  const AttentionPass pass(a, sampled.rows, /*forward=*/!projected.defined());
  const AttentionShape& shape = pass.shape();
  const TokenMask& mask = pass.mask();
  const int64_t width = shape.width, tokens = shape.all_tokens();
  const int64_t chunk_size = std::min(chunk_tokens(pass.tile()), tokens);

  AttentionGradients gradients(pass, terms);
  const AttentionGradients::Chunk space = gradients.chunk_space(chunk_size);
  at::Tensor wide_x, wide_grad, wide_projected, cleared_x, cleared_grad;  // of a chunk, where they are needed
  if (!projected.defined()) wide_projected = work_space({chunk_size, 2 * width});
  at::Tensor x_gradient = work_space(x.sizes());
  const TokenRows x_rows(x), grad_rows(grad);
  for_each_chunk(tokens, chunk_size, [&](Range chunk) {
    const float* chunk_x = x_rows.read(chunk, wide_x);
    const float* chunk_grad = cleared(mask, chunk, width, grad_rows.read(chunk, wide_grad), cleared_grad);
    const float* chunk_projected =
        projected.defined() ? TokenRows(projected).read(chunk, wide_projected) : data(wide_projected);
    for_each_tile(chunk, pass.tile(), [&](Range tile, int64_t index) {
      const int64_t offset = tile.begin - chunk.begin;
      if (!projected.defined()) {
        pass.project(chunk_x + offset * width, tile, data(wide_projected, offset * 2 * width));
      }
      gradients.tile(tile, index, chunk_projected + offset * 2 * width, chunk_grad + offset * width, space, chunk.begin,
                     data(x_gradient, tile.begin * width));
    });
    if (mask.respect) chunk_x = cleared(mask, chunk, width, chunk_x, cleared_x);
    gradients.chunk(chunk, chunk_x, chunk_projected, chunk_grad, space);
  });

  AttentionBackward result;
  at::Tensor rows_gradient, out_bias;
  // The published mask lets the bias of the output projection reach padded tokens.
  if (mask.padded != nullptr && !mask.respect) out_bias = grad.sum({0, 1});
  result.parameters = gradients.finish(sampled.rows, out_bias, &rows_gradient);
  if (rows_gradient.defined()) sampled.add_back(rows_gradient, x_gradient);
  result.query = a.mode.causal ? running_mean_backward(x_gradient, left_out(a)) : x_gradient;
  return result;
}

}  // namespace primal::ops::fused
