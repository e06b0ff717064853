#include "analysis/matrix_spectrum.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cmath>

#include "analysis/matrix_curves.h"
#include "nn/attention/kinds.h"
#include "nn/encoder.h"
#include "nn/record.h"
#include "support/ksvd_solution.h"
#include "support/tensors.h"

namespace primal::analysis {
namespace {

using run::MatrixFacts;
using tests::close;
using torch::Tensor;

constexpr int64_t kChannels = 12, kOwnHeads = 3, kSequence = 17;

std::unique_ptr<nn::Attention> kind_alone(nn::AttentionOptions options) {
  options.width = kChannels;
  options.heads = kOwnHeads;
  options.tokens = kSequence;
  torch::manual_seed(5);
  auto attention = nn::make_attention(options);
  attention->module()->to(torch::kDouble);
  attention->module()->eval();
  return attention;
}

Tensor random_tokens(int64_t samples = 1) { return torch::randn({samples, kSequence, kChannels}, torch::kDouble); }

// Queries or keys of each head: [H, N, d]
Tensor projected_heads(const nn::Attention& attention, const std::string& name, const Tensor& x) {
  const auto parameters = attention.module()->named_parameters();
  const Tensor y = at::linear(x[0], parameters[name + ".weight"], parameters[name + ".bias"]);
  return y.view({-1, kOwnHeads, kChannels / kOwnHeads}).transpose(0, 1);
}

Tensor head_products(const nn::Attention& attention, const Tensor& x) {
  return projected_heads(attention, "q_proj", x).matmul(projected_heads(attention, "k_proj", x).transpose(1, 2));
}

TEST(AttentionMatrix, OfSoftmaxIsTheSoftmaxOfScaledProducts) {
  const auto attention = kind_alone({.kind = "softmax"});
  const Tensor x = random_tokens();
  const Tensor scores = head_products(*attention, x) / std::sqrt(static_cast<double>(kChannels / kOwnHeads));
  EXPECT_TRUE(close(attention_matrix(*attention, x), scores.softmax(-1), 1e-12));
}

TEST(AttentionMatrix, OfACausalSoftmaxIsATriangle) {
  const auto attention = kind_alone({.kind = "softmax", .causal = true});
  const Tensor x = random_tokens();
  const Tensor hidden = torch::ones({kSequence, kSequence}, torch::kBool).triu(1);
  const Tensor scores = head_products(*attention, x) / std::sqrt(static_cast<double>(kChannels / kOwnHeads));
  EXPECT_TRUE(close(attention_matrix(*attention, x), scores.masked_fill(hidden, -INFINITY).softmax(-1), 1e-12));
}

TEST(AttentionMatrix, LeavesPaddedTokensOutWhereverTheyAre) {
  const Tensor x = random_tokens();
  Tensor padding = torch::zeros({1, kSequence}, torch::kBool);
  for (const int64_t token : {2, 3, 16}) padding[0][token] = true;
  const Tensor alone = x.index_select(1, padding[0].logical_not().nonzero().squeeze(1));
  for (const char* kind : {"softmax", "linear", "cosine", "performer", "flow"}) {
    SCOPED_TRACE(kind);
    const auto attention = kind_alone({.kind = kind});
    const Tensor matrix = attention_matrix(*attention, x, padding);
    EXPECT_EQ(matrix.sizes(), (std::vector<int64_t>{kOwnHeads, kSequence - 3, kSequence - 3}));
    EXPECT_TRUE(close(matrix, attention_matrix(*attention, alone), 1e-10));
  }
}

TEST(AttentionMatrix, OfCosineIsThatOfTheAngles) {
  const auto attention = kind_alone({.kind = "cosine"});
  const Tensor x = random_tokens();
  const auto unit = [&](const char* name) {
    const Tensor y = projected_heads(*attention, name, x);
    return y / y.norm(2, -1, /*keepdim=*/true);
  };
  const Tensor expected = unit("q_proj").matmul(unit("k_proj").transpose(1, 2)) / std::sqrt(double{kSequence});
  EXPECT_TRUE(close(attention_matrix(*attention, x), expected, 1e-12));
}

TEST(AttentionMatrix, OfLinearIsPositiveAndItsRowsAreMeans) {
  for (const bool causal : {false, true}) {
    const Tensor matrix = attention_matrix(*kind_alone({.kind = "linear", .causal = causal}), random_tokens());
    EXPECT_GE(matrix.min().item<double>(), 0);
    EXPECT_TRUE(close(matrix.sum(-1), torch::ones({kOwnHeads, kSequence}, torch::kDouble), 1e-5));
    EXPECT_EQ(matrix.triu(1).abs().max().item<double>() == 0, causal);
  }
}

TEST(AttentionMatrix, OfAWindowIsABand) {
  const Tensor matrix = attention_matrix(*kind_alone({.kind = "window", .window = {.tokens = 4}}), random_tokens());
  const Tensor at = torch::arange(kSequence), near = (at.unsqueeze(1) - at).abs() <= 2;
  EXPECT_TRUE(tests::same(matrix[0] > 0, near));
  EXPECT_TRUE(close(matrix.sum(-1), torch::ones({kOwnHeads, kSequence}, torch::kDouble), 1e-12));
}

nn::Encoder encoder_of_kinds(const std::vector<nn::AttentionOptions>& kinds) {
  std::vector<nn::EncoderLayerOptions> layers;
  for (nn::AttentionOptions options : kinds) {
    options.width = kChannels;
    options.heads = kOwnHeads;
    options.tokens = kSequence;
    layers.push_back({.attention = options, .feed_forward = 16});
  }
  torch::manual_seed(6);
  nn::Encoder encoder(layers);
  encoder->to(torch::kDouble);
  return encoder;
}

// Singular values of each matrix, [H, k] per sample, all made as they are.
std::vector<SingularValues> matrix_rows(const Tensor& values) {
  std::vector<SingularValues> rows;
  for (int64_t h = 0; h < values.size(0); ++h) {
    const Tensor row = values[h].contiguous();
    rows.emplace_back(row.data_ptr<double>(), row.data_ptr<double>() + row.numel());
  }
  return rows;
}

void expect_curves(const run::MatrixCurves& actual, const std::vector<SingularValues>& matrices,
                   const std::vector<int64_t>& places) {
  const auto expected = matrix_curves(matrices, places, /*with_deviations=*/true);
  ASSERT_EQ(actual.values.size(), expected.values.size());
  for (size_t i = 0; i < expected.values.size(); ++i) {
    EXPECT_NEAR(actual.values[i], expected.values[i], 1e-9);
    EXPECT_NEAR(actual.explained[i], expected.explained[i], 1e-9);
  }
  EXPECT_NEAR(actual.effective_rank, expected.effective_rank, 1e-9);
  EXPECT_EQ(actual.ranks, expected.ranks);
}

TEST(MatrixSpectra, AreThoseOfTheMatricesOfEverySampleAndHead) {
  nn::Encoder encoder = encoder_of_kinds({{.kind = "softmax"}, {.kind = "primal", .primal = {.rank = 4, .rows = 7}}});
  const Tensor x = random_tokens(3), padding = padding_mask(torch::tensor({17, 9, 0}), kSequence);
  const auto pass = [&] { encoder(x, nn::EncoderMasks{padding}); };
  const auto records = nn::record(*encoder, pass);
  const auto layers = matrix_spectra(*encoder, pass);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].layer, "layer 1");
  EXPECT_EQ(layers[0].kind, "softmax");
  EXPECT_EQ(layers[1].kind, "primal");
  std::vector<SingularValues> attention, kernel;
  for (int64_t b = 0; b < 2; ++b) {
    const auto sample = [&](const nn::AttentionRecord& call) {
      return call.input.narrow(0, b, 1).narrow(1, 0, b == 0 ? 17 : 9);
    };
    const Tensor matrix = attention_matrix(*records[0].attention, sample(records[0]));
    for (const auto& row : matrix_rows(at::linalg_svdvals(matrix))) attention.push_back(row);
    const Tensor k = tests::kernel_matrix(*records[1].attention->primal(), sample(records[1])).k;
    for (const auto& row : matrix_rows(at::linalg_svdvals(k).narrow(1, 0, kChannels / kOwnHeads)))
      kernel.push_back(row);
  }
  EXPECT_EQ(layers[0].samples, 2);  // the third has no token
  EXPECT_EQ(layers[0].tokens, 17);
  EXPECT_EQ(layers[0].places.size(), 17u);
  EXPECT_EQ(layers[1].places.size(), 4u);  // no more pairs than features
  EXPECT_EQ(layers[1].features, 4);
  expect_curves(layers[0].all, attention, layers[0].places);
  expect_curves(layers[1].all, kernel, layers[1].places);
  ASSERT_EQ(layers[0].heads.size(), static_cast<size_t>(kOwnHeads));
  expect_curves(layers[0].heads[1], {attention[1], attention[1 + kOwnHeads]}, layers[0].places);
  EXPECT_EQ(layers[0].all.deviations.size(), 17u);
}

TEST(MatrixSpectra, CausalLayersHaveThemToo) {
  nn::Encoder encoder = encoder_of_kinds(
      {{.kind = "primal", .causal = true, .primal = {.rank = 4}}, {.kind = "softmax", .causal = true}});
  const auto layers = matrix_spectra(*encoder, [&] { encoder(random_tokens(2)); });
  ASSERT_EQ(layers.size(), 2u);
  for (const MatrixFacts& layer : layers) {
    EXPECT_EQ(layer.left_out, "");
    EXPECT_EQ(layer.samples, 2);
    EXPECT_NEAR(layer.all.explained.back(), 1, 1e-12);
  }
}

TEST(MatrixSpectra, KeepToTheirLimits) {
  nn::Encoder encoder = encoder_of_kinds({{.kind = "softmax"}, {.kind = "primal", .primal = {.rank = 4, .rows = 7}}});
  const Tensor x = random_tokens(6);
  const auto with = [&](const MatrixLimits& limits) {
    return matrix_spectra(
        *encoder, [&] { encoder(x); }, limits);
  };
  EXPECT_EQ(with({.samples = 3})[0].samples, 3);
  EXPECT_EQ(with({.tokens = 40})[0].samples, 2);
  EXPECT_EQ(with({.tokens = 5})[1].samples, 1);  // one in any case
  const auto short_only = with({.longest = 16});
  EXPECT_EQ(short_only[0].left_out, "17 tokens, of more than 16 no spectrum is made");
  EXPECT_EQ(short_only[0].samples, 0);
  EXPECT_EQ(short_only[1].left_out, "");  // a kernel matrix is never made
  EXPECT_EQ(with({.longest_kernel = 16})[1].left_out, "17 tokens, of more than 16 no spectrum is made");
}

TEST(MatrixSpectra, DoNotChangeTheModel) {
  nn::Encoder encoder = encoder_of_kinds({{.kind = "softmax", .dropout = 0.5}, {.kind = "performer"}});
  const Tensor x = random_tokens(2);
  std::vector<Tensor> before;
  const auto tensors = [&] {
    std::vector<Tensor> all = encoder->parameters();
    for (const Tensor& buffer : encoder->buffers()) all.push_back(buffer);
    return all;
  };
  for (const Tensor& tensor : tensors()) before.push_back(tensor.detach().clone());
  const auto first = matrix_spectra(*encoder, [&] { encoder(x); });
  const auto second = matrix_spectra(*encoder, [&] { encoder(x); });
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].all.values, second[i].all.values);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(tests::same(tensors()[i].detach(), before[i])) << i;
}

// Samples that are too long for an attention matrix count for no layer, if there are others.
TEST(MatrixSpectra, LayersOfAModelShowTheSameSamples) {
  nn::Encoder encoder = encoder_of_kinds({{.kind = "softmax"}, {.kind = "primal", .primal = {.rank = 4, .rows = 5}}});
  const Tensor x = random_tokens(3);
  const Tensor padding = padding_mask(torch::tensor({17, 9, 7}), kSequence);
  const auto with = [&](const MatrixLimits& limits) {
    return matrix_spectra(
        *encoder, [&] { encoder(x, nn::EncoderMasks{padding}); }, limits);
  };
  for (const MatrixFacts& layer : with({.longest = 10})) {
    EXPECT_EQ(layer.samples, 2) << layer.layer;
    EXPECT_EQ(layer.tokens, 9) << layer.layer;
  }
  const auto all_long = with({.longest = 5});
  EXPECT_EQ(all_long[0].samples, 0);
  EXPECT_EQ(all_long[1].samples, 1);  // the first of them
  EXPECT_EQ(all_long[1].tokens, 17);
}

TEST(MatrixSpectra, PaddedTokensThatALayerMixesAreThere) {
  nn::Encoder encoder =
      encoder_of_kinds({{.kind = "softmax", .padding = Padding::ignore},
                        {.kind = "primal", .padding = Padding::ignore, .primal = {.rank = 4, .rows = 5}}});
  const Tensor x = random_tokens(1), padding = padding_mask(torch::tensor({9}), kSequence);
  for (const MatrixFacts& layer : matrix_spectra(*encoder, [&] { encoder(x, nn::EncoderMasks{padding}); })) {
    EXPECT_EQ(layer.tokens, kSequence) << layer.layer;
  }
}

TEST(MatrixSpectra, NumbersThatAreNotFiniteAreLeftOut) {
  nn::Encoder encoder = encoder_of_kinds({{.kind = "softmax"}, {.kind = "primal", .primal = {.rank = 4, .rows = 5}}});
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Tensor x = random_tokens(1);
    x[0][3][2] = bad;
    for (const MatrixFacts& layer : matrix_spectra(*encoder, [&] { encoder(x); })) {
      EXPECT_EQ(layer.left_out, "its numbers are not finite") << layer.layer << bad;
    }
  }
}

}  // namespace
}  // namespace primal::analysis
