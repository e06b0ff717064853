// How each layer of a model mixes the tokens of some data: singular values of its attention matrix, or of a primal
// layer of its kernel matrix, for any kind of attention and with any mask.
//
//   auto matrices = analysis::matrix_spectra(*model, [&] { model->forward(batch); });
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <string>
#include <vector>

#include "nn/attention/attention.h"
#include "run/matrix_facts.h"

namespace primal::analysis {

/// A matrix of N x N costs N^3: few samples tell enough.
struct MatrixLimits {
  int64_t samples = 8;     ///< of a layer: the first ones that are not too long
  int64_t tokens = 4096;   ///< of them together, but for the first; 0 = any
  int64_t longest = 2048;  ///< no attention matrix of more tokens is made
  /// A kernel matrix is not made, it costs N. But only where all samples are long one longer than `longest` is looked
  /// at: else the layers of a model would show different samples.
  int64_t longest_kernel = int64_t{1} << 16;
};

/// "at most 8 samples of a layer and 4096 tokens together, none of more than 2048 (kernel matrices: 65536)"
std::string describe(const MatrixLimits& limits);

/// A of one sample, head by head, without padded tokens that the layer leaves out: [H, n, n] float32, or float64 where
/// x is. Made in blocks of columns, by what the attention does to unit vectors. x: [1, N, D]; padding: [1, N] bool. In
/// evaluation mode. Undefined: the kind mixes no values.
at::Tensor attention_matrix(nn::Attention& attention, const at::Tensor& x,
                            const std::optional<at::Tensor>& padding = {});

/// One entry per layer that was called. A sample counts without padded tokens, if the layer leaves them out; one
/// without any other is passed over. The kernel matrix of a primal layer is never made: see ksvd_factors().
std::vector<run::MatrixFacts> matrix_spectra(torch::nn::Module& model, const std::function<void()>& pass,
                                             const MatrixLimits& limits = {});

}  // namespace primal::analysis
