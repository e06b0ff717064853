#include "ops/fused/attention.h"

#include <ATen/ATen.h>

#include <cstdlib>
#include <string_view>

#include "kernels/cpu_features.h"
#include "kernels/cpu_target.h"
#include "ops/fused/fading_projection.h"
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

// What q and k are made from.
at::Tensor projected_tokens(const AttentionArguments& a) {
  return a.averages_tokens() ? running_mean(a.query.to(at::kFloat), a.left_out()) : a.query.contiguous();
}

// q and k of each token alone, [B, N, 2D], where they are to fade.
at::Tensor projected_alone(const AttentionPass& pass, const at::Tensor& x) {
  const AttentionShape& shape = pass.shape();
  at::Tensor result = recycled_tensor({shape.batch, shape.tokens, 2 * shape.width}, at::kFloat);
  const TokenRows input(x);
  for_each_tile({0, shape.all_tokens()}, pass.tile(), [&](Range tile, int64_t /*index*/) {
    TileSpace space;
    pass.project(input.read(tile, space), tile, data(result, tile.begin * 2 * shape.width));
  });
  return result;
}

// A chunk's rows of x with zeros at padded tokens; x itself where there is none.
const float* cleared(const TokenMask& mask, Range range, int64_t width, const float* x, at::Tensor& space) {
  if (!mask.any(range)) return x;
  if (!space.defined() || space.size(0) < range.size()) space = work_space({range.size(), width});
  std::copy_n(x, range.size() * width, data(space));
  mask.clear(range, width, data(space));
  return data(space);
}

// Chunks of a backward pass: what is read of them is widened and cleared where it must be.
class BackwardChunks {
 public:
  BackwardChunks(const AttentionPass& pass, const at::Tensor& x, const at::Tensor& grad)
      : pass_(pass), x_(x), grad_(grad) {}

  int64_t size() const { return std::min(chunk_tokens(pass_.tile()), pass_.shape().all_tokens()); }
  const float* x(Range chunk) { return x_.read(chunk, wide_x_); }
  /// 0 at tokens that are left out.
  const float* counted_x(Range chunk, const float* rows) {
    return pass_.mask().respect ? cleared(pass_.mask(), chunk, pass_.shape().width, rows, cleared_x_) : rows;
  }
  const float* out_gradient(Range chunk) {
    return cleared(pass_.mask(), chunk, pass_.shape().width, grad_.read(chunk, wide_grad_), cleared_grad_);
  }

 private:
  const AttentionPass& pass_;
  TokenRows x_, grad_;
  at::Tensor wide_x_, wide_grad_, cleared_x_, cleared_grad_;  // of a chunk, where they are needed
};

// From the gradient of the output to those of the parameters and of x.
void backward_through_all(const AttentionPass& pass, BackwardChunks& chunks, const at::Tensor& projected,
                          AttentionGradients& gradients, const at::Tensor& x_gradient) {
  const int64_t width = pass.shape().width;
  const AttentionGradients::Chunk space = gradients.chunk_space(chunks.size());
  at::Tensor wide_projected;
  if (!projected.defined()) wide_projected = work_space({chunks.size(), 2 * width});
  for_each_chunk(pass.shape().all_tokens(), chunks.size(), [&](Range chunk) {
    const float* chunk_x = chunks.x(chunk);
    const float* chunk_grad = chunks.out_gradient(chunk);
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
    gradients.chunk(chunk, chunks.counted_x(chunk, chunk_x), chunk_projected, chunk_grad, space);
  });
}

// The same where q and k fade: to the gradient of all sums, back in time, and on from there. -> that of log_scale
at::Tensor backward_through_fading(const AttentionPass& pass, BackwardChunks& chunks, const FadingProjection& fading,
                                   AttentionGradients& gradients, const at::Tensor& x_gradient) {
  const int64_t width = pass.shape().width, tokens = pass.shape().all_tokens();
  const at::Tensor sums_gradient = recycled_tensor(fading.sums().sizes(), at::kFloat);
  AttentionGradients::Chunk space = gradients.chunk_space(chunks.size());
  for_each_chunk(tokens, chunks.size(), [&](Range chunk) {
    const float* chunk_grad = chunks.out_gradient(chunk);
    const float* sums = data(fading.sums(), chunk.begin * 2 * width);
    space.projected_gradient = sums_gradient.view({tokens, 2 * width}).narrow(0, chunk.begin, chunk.size());
    for_each_tile(chunk, pass.tile(), [&](Range tile, int64_t index) {
      const int64_t offset = tile.begin - chunk.begin;
      gradients.tile_of_scores(tile, index, sums + offset * 2 * width, chunk_grad + offset * width, space, chunk.begin);
    });
    gradients.chunk_of_scores(chunk, sums, chunk_grad, space);
  });
  const FadingProjection::Gradients g = fading.backward(sums_gradient);
  for_each_chunk(tokens, chunks.size(), [&](Range chunk) {
    for_each_tile(chunk, pass.tile(), [&](Range tile, int64_t index) {
      gradients.tile_of_projection(tile, index, data(g.alone, tile.begin * 2 * width),
                                   data(x_gradient, tile.begin * width));
    });
    gradients.chunk_of_projection(chunk, chunks.counted_x(chunk, chunks.x(chunk)),
                                  data(g.alone, chunk.begin * 2 * width));
  });
  return g.log_scale;
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
  return !a.key && FadingProjection::serves(a) && a.mode.feature_map == "cosine" &&
         has_kernel_for(a.query.scalar_type()) &&
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
  std::optional<FadingProjection> fading;
  if (a.log_scale) fading.emplace(a, projected_alone(pass, x));
  if (keep_projected) {
    result.projected = fading ? fading->alone().to(a.query.scalar_type())
                              : recycled_tensor({shape.batch, shape.tokens, 2 * width}, a.query.scalar_type());
  }
  const at::Tensor le = work_space({tokens}), lr = work_space({tokens});
  const TokenRows input(x), out(result.out);
  const std::optional<TokenRows> kept =
      keep_projected && !fading ? std::optional<TokenRows>(result.projected) : std::nullopt;
  for_each_tile({0, tokens}, pass.tile(), [&](Range tile, int64_t /*index*/) {
    TileSpace space;
    float* projected = fading ? data(fading->sums(), tile.begin * 2 * width)
                       : kept ? kept->take(tile, space)
                              : space.take(tile.size(), 2 * width);
    float* inverse = space.take(tile.size(), 2 * shape.heads);
    float* scores = space.take(tile.size(), shape.scores());
    if (!fading) pass.project(input.read(tile, space), tile, projected);
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
  const TokenMask& mask = pass.mask();
  AttentionGradients gradients(pass, terms);
  BackwardChunks chunks(pass, x, grad);
  const at::Tensor x_gradient = work_space(x.sizes());
  at::Tensor log_scale;
  if (a.log_scale) {
    const FadingProjection fading(
        a, projected.defined() ? projected.to(at::kFloat).contiguous() : projected_alone(pass, x));
    log_scale = backward_through_fading(pass, chunks, fading, gradients, x_gradient);
  } else {
    backward_through_all(pass, chunks, projected, gradients, x_gradient);
  }

  AttentionBackward result;
  at::Tensor rows_gradient, out_bias;
  // The published mask lets the bias of the output projection reach padded tokens.
  if (mask.padded != nullptr && !mask.respect) out_bias = grad.sum({0, 1});
  result.parameters = gradients.finish(sampled.rows, out_bias, &rows_gradient);
  result.parameters.log_scale = log_scale;
  if (rows_gradient.defined()) sampled.add_back(rows_gradient, x_gradient);
  result.query = a.averages_tokens() ? running_mean_backward(x_gradient, a.left_out()) : x_gradient;
  return result;
}

}  // namespace primal::ops::fused
