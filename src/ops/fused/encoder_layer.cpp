#include "ops/fused/encoder_layer.h"

#include <ATen/ATen.h>

#include "kernels/cpu_target.h"
#include "kernels/layer_norm.h"
#include "ops/fused/encoder_pass.h"
#include "ops/fused/fading_projection.h"
#include "ops/recycled_memory.h"
#include "ops/running_mean.h"

namespace primal::ops::fused {

namespace {

// The gradients of a layer norm, summed per tile.
struct NormSums {
  at::Tensor weight, bias;  // [tiles, D]

  NormSums(int64_t tiles, int64_t width) : weight(zeros({tiles, width})), bias(zeros({tiles, width})) {}
  void backward(const LayerNormWeights& norm, double epsilon, const float* x, int64_t rows, int64_t index,
                const float* gradient, bool add, float* x_gradient) const {
    const int64_t width = weight.size(1);
    kernels::layer_norm_backward(x, {rows, width, static_cast<float>(epsilon)}, norm.weight.const_data_ptr<float>(),
                                 gradient, add, x_gradient, data(weight, index * width), data(bias, index * width));
  }
  LayerNormWeights total() const { return {weight.sum(0), bias.sum(0)}; }
};

// q and k of all tokens, and their fading sums, if they fade. kept: of the pass, or undefined; q and k are found in it,
// or made there by a pass that can.
std::optional<FadingProjection> fading_projection(const EncoderPass& pass, const at::Tensor& kept, bool made) {
  const AttentionArguments& a = pass.arguments().attention;
  if (!a.log_scale) return std::nullopt;
  const AttentionShape& shape = pass.attention().shape();
  const int64_t width = shape.width, tokens = shape.all_tokens();
  const std::array<int64_t, 3> sizes{shape.batch, shape.tokens, 2 * width};
  const at::Tensor alone = kept.defined() ? kept.narrow(0, 0, tokens * 2 * width).view(sizes)  // they lie first
                                          : recycled_tensor(sizes, at::kFloat);
  if (!made) {
    for_each_tile({0, tokens}, pass.tile(), [&](Range tile, int64_t /*index*/) {
      TileSpace space;
      const float* x = pass.cleared(a.query.const_data_ptr<float>() + tile.begin * width, tile, space);
      pass.project(x, tile, data(alone, tile.begin * 2 * width));
    });
  }
  return FadingProjection(a, alone);
}

/// One backward pass: the packed transposed weights, the sums, and the work space of a chunk.
class EncoderBackward {
 public:
  /// given: the arguments that the pass was made of.
  EncoderBackward(const EncoderPass& pass, const EncoderLayerArguments& given, const TermGradients& terms,
                  const at::Tensor& kept)
      : pass_(pass),
        a_(pass.arguments()),
        saw_input_(!given.attended),
        read_(pass.read()),
        tokens_(pass.attention().shape().all_tokens()),
        width_(pass.attention().shape().width),
        inner_(pass.inner_width()),
        chunk_(std::min(chunk_tokens(pass.tile()), tokens_)),
        tiles_((tokens_ + pass.tile() - 1) / pass.tile()),
        kept_(kept),
        fading_(fading_projection(pass, kept, /*made=*/kept.defined())),
        linear1_back_(PackedMatrix::of_weight(a_.linear1_weight, /*transposed=*/false)),
        linear2_back_(PackedMatrix::of_weight(a_.linear2_weight, /*transposed=*/false)),
        attention_(pass.attention(), terms),
        attention_space_(attention_.chunk_space(chunk_)),
        norm1_(tiles_, width_),
        norm2_(tiles_, width_) {
    if (!kept_.defined()) recomputed_ = work_space({chunk_ * kept_numbers(a_)});
    attended_ = a_.norms_before_attention() || pass.attention().mask().padded != nullptr ? work_space({chunk_, width_})
                                                                                         : at::Tensor();
    if (fading_) sums_gradient_ = recycled_tensor({tokens_, 2 * width_}, at::kFloat);
    attention_gradient_ = work_space({chunk_, width_});
    middle_ = work_space({chunk_, width_});
    second_gradient_ = work_space({chunk_, width_});
    activated_ = work_space({chunk_, inner_});
    inner_gradient_ = work_space({chunk_, inner_});
    result_.x = work_space(a_.attention.query.sizes());
    if (a_.attended) result_.attended = work_space(a_.attention.query.sizes());
    result_.linear1_weight = at::empty_like(a_.linear1_weight);
    result_.linear2_weight = at::empty_like(a_.linear2_weight);
    tile_bias1_ = zeros({tiles_, inner_});
    tile_bias2_ = zeros({tiles_, width_});
    if (published_mask()) tile_out_bias_ = zeros({tiles_, width_});
  }

  EncoderLayerGradients run(const at::Tensor& out_gradient) {
    const float* x = a_.attention.query.const_data_ptr<float>();
    const float* gradient = out_gradient.const_data_ptr<float>();
    for_each_chunk(tokens_, chunk_, [&](Range chunk) {
      const int64_t chunk_row = read_.rows(chunk).begin;
      KeptTokens kept = kept_.defined() ? kept_tokens(a_, data(kept_), tokens_).from(chunk.begin, chunk_row, a_)
                                        : kept_tokens(a_, data(recomputed_), chunk_);
      if (fading_) {
        kept.projected = data(fading_->sums(), chunk.begin * 2 * width_);
        attention_space_.projected_gradient = sums_gradient_.narrow(0, chunk.begin, chunk.size());
      }
      for_each_tile(chunk, pass_.tile(), [&](Range tile, int64_t index) {
        const Place place{tile, index, chunk.begin, read_.rows(tile).begin - chunk_row, read_.rows(tile).size()};
        backward_tile(place, x + tile.begin * width_, kept.from(tile.begin - chunk.begin, place.row, a_),
                      gradient + tile.begin * width_);
      });
      weights(chunk, x + chunk.begin * width_, kept);
    });
    at::Tensor log_scale;
    if (fading_) log_scale = through_fading();
    if (a_.attention.averages_tokens()) through_means();
    finish();
    result_.attention.log_scale = log_scale;
    return result_;
  }

 private:
  /// A tile, its index counted from token 0, and where the rows of its tokens that are read lie in the chunk.
  struct Place {
    Range tile;
    int64_t index, chunk_begin;
    int64_t row, rows;
  };

  bool published_mask() const {
    const TokenMask& mask = pass_.attention().mask();
    return mask.padded != nullptr && !mask.respect;
  }

  void backward_tile(const Place& p, const float* input, const KeptTokens& kept, const float* out_gradient) {
    TileSpace space;
    const float* x = pass_.cleared(input, p.tile, space);
    if (recomputed_.defined()) {
      if (!fading_) pass_.project(x, p.tile, kept.projected);
      pass_.forward(x, p.tile, kept, nullptr, nullptr, nullptr);
    }
    float* x_gradient = data(result_.x, p.tile.begin * width_);
    float* middle = data(middle_, p.row * width_);
    float* second = data(second_gradient_, p.row * width_);
    float* first = data(attention_gradient_, p.row * width_);

    // `gradient` first holds the gradient of what `after_first` flows into along the residual.
    float* gradient = read_.all() ? x_gradient : space.take(p.rows, width_);
    if (a_.norm_first || !read_.all()) read_.gather(p.tile, width_, out_gradient, gradient);
    if (!a_.norm_first) {
      norm2_.backward(a_.norm2, a_.epsilon, kept.after_second, p.rows, p.index, read_.all() ? out_gradient : gradient,
                      /*add=*/false, gradient);
    }
    feed_forward_tile(p, kept, gradient, second);
    pass_.norm(a_.norm_first ? a_.norm2 : a_.norm1, kept.after_first, p.rows, middle);
    const float* inner_gradient = data(inner_gradient_, p.row * inner_);
    if (a_.norm_first) {
      linear1_back_.multiply({inner_gradient, inner_}, p.rows, {.data = first, .row_stride = width_});
      norm2_.backward(a_.norm2, a_.epsilon, kept.after_first, p.rows, p.index, first, /*add=*/true, gradient);
    } else {
      linear1_back_.multiply({inner_gradient, inner_}, p.rows, {.data = gradient, .row_stride = width_, .add = true});
      norm1_.backward(a_.norm1, a_.epsilon, kept.after_first, p.rows, p.index, gradient, /*add=*/false, gradient);
    }
    std::copy_n(gradient, p.rows * width_, first);
    if (!read_.all()) read_.scatter(p.tile, width_, gradient, x_gradient);
    attention_tile(p, x, kept, x_gradient, first);
    if (pass_.attention().mask().respect) pass_.attention().mask().clear(p.tile, width_, x_gradient);
  }

  // From the gradient of the feed-forward part's result to that of its inside, and its activations again.
  void feed_forward_tile(const Place& p, const KeptTokens& kept, const float* gradient, float* second) {
    float* activated = data(activated_, p.row * inner_);
    float* inner_gradient = data(inner_gradient_, p.row * inner_);
    std::copy_n(gradient, p.rows * width_, second);
    pass_.drop(2, p.tile, width_, second);
    kernels::add_column_sums(second, p.rows, width_, width_, data(tile_bias2_, p.index * width_));
    linear2_back_.multiply({second, width_}, p.rows, {.data = inner_gradient, .row_stride = inner_});
    pass_.drop(1, p.tile, inner_, inner_gradient);
    kernels::activate_backward(a_.activation, kept.inner, p.rows * inner_, activated, inner_gradient);
    pass_.drop(1, p.tile, inner_, activated);
    kernels::add_column_sums(inner_gradient, p.rows, inner_, inner_, data(tile_bias1_, p.index * inner_));
  }

  // first: the gradient of input + attention, rows of tokens that are read. x_gradient: the same for all tokens; the
  // share through the attention is added, unless q and k fade: then that is for later.
  void attention_tile(const Place& p, const float* x, const KeptTokens& kept, float* x_gradient, float* first) {
    const TokenMask& mask = pass_.attention().mask();
    pass_.drop(0, p.tile, width_, first);
    if (published_mask()) {
      kernels::add_column_sums(first, p.rows, width_, width_, data(tile_out_bias_, p.index * width_));
    }
    read_.for_each_run(p.tile, [&](Range run, int64_t row) { mask.clear(run, width_, first + row * width_); });
    attention_.tile_of_scores(p.tile, p.index, kept.projected, first, attention_space_, p.chunk_begin);
    if (fading_) return;
    const int64_t offset = p.tile.begin - p.chunk_begin;
    projection_tile(p.tile, p.index, offset, x, data(attention_space_.projected_gradient, offset * 2 * width_),
                    x_gradient);
  }

  // From the gradient of q and k to that of what the attention saw, and on to x_gradient unless that has one of its
  // own. offset: of the tile in its chunk.
  void projection_tile(Range tile, int64_t index, int64_t offset, const float* x, const float* projected_gradient,
                       float* x_gradient) {
    const TokenMask& mask = pass_.attention().mask();
    TileSpace space;
    float* through = a_.attended ? data(result_.attended, tile.begin * width_) : space.take(tile.size(), width_);
    attention_.tile_of_projection(tile, index, projected_gradient, through);
    if (attended_.defined()) {
      float* attended = data(attended_, offset * width_);
      const float* seen = pass_.attended(x, tile, attended);
      if (seen != attended) std::copy_n(seen, tile.size() * width_, attended);
      if (mask.respect) mask.clear(tile, width_, attended);
    }
    if (!a_.attended) {
      input_tile(tile, index, x, through, x_gradient);
    } else if (mask.respect) {
      mask.clear(tile, width_, through);
    }
  }

  // x_gradient += seen_gradient, of what the attention saw, through the norm if that comes first.
  void input_tile(Range tile, int64_t index, const float* x, const float* seen_gradient, float* x_gradient) {
    if (a_.norm_first) {
      norm1_.backward(a_.norm1, a_.epsilon, x, tile.size(), index, seen_gradient, /*add=*/true, x_gradient);
    } else {
      kernels::add(seen_gradient, tile.size() * width_, x_gradient);
    }
  }

  // body(tile, index, x, x_gradient), x being cleared.
  template <typename Body>
  void for_each_input_tile(Range range, const Body& body) {
    for_each_tile(range, pass_.tile(), [&](Range tile, int64_t index) {
      TileSpace space;
      const int64_t place = tile.begin * width_;
      const float* x = pass_.cleared(a_.attention.query.const_data_ptr<float>() + place, tile, space);
      body(tile, index, x, data(result_.x, place));
    });
  }

  // After all chunks: from the gradient of the fading sums back in time, and on from there. -> that of log_scale
  at::Tensor through_fading() {
    const FadingProjection::Gradients g = fading_->backward(sums_gradient_.view_as(fading_->sums()));
    for_each_chunk(tokens_, chunk_, [&](Range chunk) {
      for_each_input_tile(chunk, [&](Range tile, int64_t index, const float* x, float* x_gradient) {
        projection_tile(tile, index, tile.begin - chunk.begin, x, data(g.alone, tile.begin * 2 * width_), x_gradient);
      });
      const float* x = a_.attention.query.const_data_ptr<float>() + chunk.begin * width_;
      attention_.chunk_of_projection(chunk, seen_rows(chunk, x), data(g.alone, chunk.begin * 2 * width_));
    });
    return g.log_scale;
  }

  // After all chunks: from the gradient of the running means back in time, and on to x if they were of its tokens.
  void through_means() {
    const at::Tensor seen_gradient = running_mean_backward(result_.attended, a_.attention.left_out());
    result_.attended = saw_input_ ? at::Tensor() : seen_gradient;
    if (!saw_input_) return;
    for_each_input_tile({0, tokens_}, [&](Range tile, int64_t index, const float* x, float* x_gradient) {
      input_tile(tile, index, x, data(seen_gradient, tile.begin * width_), x_gradient);
    });
  }

  // What the attention saw of a chunk whose tiles are done. x: [C, D]
  const float* seen_rows(Range chunk, const float* x) const {
    return attended_.defined() ? data(attended_) : pass_.attended(x, chunk, nullptr);
  }

  void weights(Range chunk, const float* x, const KeptTokens& kept) {
    const int64_t count = read_.rows(chunk).size();
    const bool add = chunk.begin > 0;
    const OuterProduct linear2{{data(second_gradient_), width_},
                               {data(activated_), inner_},
                               {width_, inner_, count},
                               data(result_.linear2_weight),
                               add};
    const OuterProduct linear1{{data(inner_gradient_), inner_},
                               {data(middle_), width_},
                               {inner_, width_, count},
                               data(result_.linear1_weight),
                               add};
    if (fading_) {
      attention_.chunk_of_scores(chunk, kept.projected, data(attention_gradient_), attention_space_,
                                 {linear2, linear1});
    } else {
      attention_.chunk(chunk, seen_rows(chunk, x), kept.projected, data(attention_gradient_), attention_space_,
                       {linear2, linear1});
    }
  }

  void finish() {
    at::Tensor rows_gradient;
    result_.attention = attention_.finish(pass_.rows(), tile_out_bias_.defined() ? tile_out_bias_.sum(0) : at::Tensor(),
                                          &rows_gradient);
    if (rows_gradient.defined()) {
      if (a_.norms_before_attention()) {
        const int64_t rows = rows_gradient.size(0) * rows_gradient.size(1);
        norm1_.backward(a_.norm1, a_.epsilon, pass_.sampled().rows.const_data_ptr<float>(), rows, 0,
                        data(rows_gradient), /*add=*/false, data(rows_gradient));
      }
      pass_.sampled().add_back(rows_gradient, a_.attended ? result_.attended : result_.x);
    }
    result_.norm1 = norm1_.total();
    result_.norm2 = norm2_.total();
    result_.linear1_bias = tile_bias1_.sum(0);
    result_.linear2_bias = tile_bias2_.sum(0);
  }

  const EncoderPass& pass_;
  const EncoderLayerArguments& a_;
  bool saw_input_;  // the attention, or its norm; else what was given
  const ReadTokens& read_;
  int64_t tokens_, width_, inner_, chunk_, tiles_;
  at::Tensor kept_, recomputed_;
  std::optional<FadingProjection> fading_;
  at::Tensor sums_gradient_;  // [B * N, 2D]: where q and k fade, of their sums
  PackedMatrix linear1_back_, linear2_back_;
  AttentionGradients attention_;
  AttentionGradients::Chunk attention_space_;
  NormSums norm1_, norm2_;
  at::Tensor attended_;            // [C, D]: what the attention saw, if that is not the input itself
  at::Tensor attention_gradient_;  // [C, D]: of the attention's output
  at::Tensor middle_;              // [C, D]: what the feed-forward part saw
  at::Tensor second_gradient_;     // [C, D]: of the feed-forward part's output
  at::Tensor activated_;           // [C, F]
  at::Tensor inner_gradient_;      // [C, F]
  at::Tensor tile_bias1_, tile_bias2_, tile_out_bias_;
  EncoderLayerGradients result_;
};

}  // namespace

EncoderLayerForward encoder_layer(const EncoderLayerArguments& arguments, bool keep) {
  kernels::use_cpu_target_of_environment();
  const EncoderPass pass(arguments, /*forward=*/true);
  const EncoderLayerArguments& a = pass.arguments();
  const AttentionShape& shape = pass.attention().shape();
  const int64_t tokens = shape.all_tokens(), width = shape.width;
  EncoderLayerForward result;
  result.out = work_space(a.attention.query.sizes());
  if (keep) result.kept = work_space({tokens * kept_numbers(a)});
  const auto fading = fading_projection(pass, result.kept, /*made=*/false);
  const at::Tensor le = work_space({tokens}), lr = work_space({tokens});
  for_each_tile({0, tokens}, pass.tile(), [&](Range tile, int64_t /*index*/) {
    TileSpace space;
    KeptTokens kept = keep ? kept_tokens(a, data(result.kept), tokens).from(tile.begin, pass.read().rows(tile).begin, a)
                           : kept_tokens(a, space.take(tile.size(), kept_numbers(a)), tile.size());
    const float* x = pass.cleared(a.attention.query.const_data_ptr<float>() + tile.begin * width, tile, space);
    if (fading) {
      kept.projected = data(fading->sums(), tile.begin * 2 * width);
    } else {
      pass.project(x, tile, kept.projected);
    }
    pass.forward(x, tile, kept, data(le, tile.begin), data(lr, tile.begin), data(result.out, tile.begin * width));
  });
  result.le = pass.attention().mean_of_squares(le);
  result.lr = pass.attention().mean_of_squares(lr);
  result.tr = pass.attention().trace();
  return result;
}

EncoderLayerGradients encoder_layer_backward(const EncoderLayerArguments& arguments, const at::Tensor& out_gradient,
                                             const TermGradients& terms, const at::Tensor& kept) {
  kernels::use_cpu_target_of_environment();
  const EncoderPass pass(arguments, /*forward=*/!kept.defined());
  return EncoderBackward(pass, arguments, terms, kept).run(out_gradient.contiguous());
}

}  // namespace primal::ops::fused
