#include "nn/attention/nystrom.h"

#include "nn/rivals/cases.h"
#include "support/errors.h"

namespace primal::nn::rivals {
namespace {

using tests::close;
using tests::error_of;

Mix nystrom(const NystromKindOptions& options, Masking masking) {
  return [=](const Heads& heads, const std::optional<Tensor>& padding) {
    return nystrom_attention(heads, options, padding, masking);
  };
}

constexpr auto kOriginal = NystromStart::original;

TEST(NystromAttention, GivesThePublishedNumbers) {
  expect_golden(golden_attention("nystrom_no_conv"), nystrom({.landmarks = 8, .start = kOriginal}, Masking::published));
}

TEST(NystromAttention, GivesThePublishedNumbersWithItsConvolution) {
  const SafetensorsFile file = golden_attention("nystrom");
  const Tensor weight = file.tensors.at("param.conv.weight").requires_grad_();
  const auto both = [&](const Heads& heads, const std::optional<Tensor>& padding) {
    return nystrom_attention(heads, {.landmarks = 4, .start = kOriginal}, padding, Masking::published) +
           convolved_values(cleared(heads.v, padding), weight);
  };
  expect_golden(file, both, {"conv.weight"});
}

TEST(NystromAttention, GivesTheWorkedExamples) {
  const auto of = [](int64_t landmarks) {
    return nystrom_attention(example(), {.landmarks = landmarks}, two_padded(), Masking::published);
  };
  EXPECT_TRUE(close(of(4),
                    printed({.237771, -.433343, .239032, .101656, .236026, -.062291, .232224, -.204617,  //
                             .236344, -.465257, .238121, .044935, .236341, -.217899, .236341, -.217899}),
                    kSixDigits));
  EXPECT_TRUE(close(of(2),
                    printed({.214588, -.299405, .274061, -.084272, .256787, -.146757, .239149, -.210559,  //
                             .208865, -.320108, .268367, -.104870, .240329, -.206293, .240329, -.206293}),
                    kSixDigits));
}

TEST(NystromAttention, BothMaskingsAgreeWhereThereIsNothingToMask) {
  const Heads heads = random_heads(1, 1, 12, 4);
  EXPECT_TRUE(close(nystrom_attention(heads, {.landmarks = 4}, std::nullopt, Masking::right),
                    nystrom_attention(heads, {.landmarks = 4}, std::nullopt, Masking::published), 1e-12));
}

TEST(NystromAttention, WithALandmarkForEveryTokenIsTheSoftmax) {
  const Heads heads = random_heads(2, 3, 9, 4);
  for (const int64_t landmarks : {9, 20}) {
    EXPECT_TRUE(close(nystrom_attention(heads, {.landmarks = landmarks}, std::nullopt, Masking::right),
                      plain_softmax_attention(heads), 1e-12));
  }
  EXPECT_TRUE(close(nystrom_attention(heads, {.landmarks = 9}, std::nullopt, Masking::published),
                    plain_softmax_attention(heads), 1e-12));
}

// S S^-1 S = S: what the formula itself gives if the inverse is exact.
TEST(NystromAttention, TheFormulaWithAllTokensAndTheTrueInverseIsTheSoftmax) {
  const Heads heads = random_heads(1, 2, 5, 4);
  const Tensor s = (heads.q.matmul(heads.k.transpose(-1, -2)) / 2).softmax(-1);
  const Tensor inverse = iterated_inverse(s, 40, NystromStart::per_matrix);
  EXPECT_TRUE(close(s.matmul(inverse).matmul(s.matmul(heads.v)), plain_softmax_attention(heads), 1e-9));
}

// Landmarks by hand: 7 tokens in runs of 3, 2 and 2.
TEST(NystromAttention, RunsAreAsEqualAsCanBe) {
  const Heads heads = random_heads(1, 1, 7, 4);
  const double scale = std::pow(4.0, -0.25);
  const auto landmarks = [&](const Tensor& x) {
    const auto mean = [&](int64_t begin, int64_t length) { return x.narrow(2, begin, length).mean(2, true) * scale; };
    return at::cat({mean(0, 3), mean(3, 2), mean(5, 2)}, 2);
  };
  const auto softmax = [](const Tensor& a, const Tensor& b) { return a.matmul(b.transpose(-1, -2)).softmax(-1); };
  const Tensor lq = landmarks(heads.q), lk = landmarks(heads.k);
  const Tensor expected = softmax(heads.q * scale, lk)
                              .matmul(iterated_inverse(softmax(lq, lk), 6, NystromStart::per_matrix))
                              .matmul(softmax(lq, heads.k * scale).matmul(heads.v));
  EXPECT_TRUE(close(nystrom_attention(heads, {.landmarks = 3}, std::nullopt, Masking::right), expected, 1e-12));
}

TEST(NystromAttention, TheIterationIsItsPolynomial) {
  // A matrix of one number, whose column sum is that number, begins at its inverse; a diagonal one does not.
  const Tensor matrix = torch::tensor({{1.0, 0.0}, {0.0, 0.5}}, torch::kDouble);
  std::vector<double> x{0.25};  // K Z of the second entry: 0.5 * 0.5 / 1
  for (int i = 0; i < 3; ++i) {
    const double y = x.back();
    x.push_back((13 * y - 15 * y * y + 7 * y * y * y - y * y * y * y) / 4);
  }
  for (int64_t i = 1; i <= 3; ++i) {
    const Tensor product = matrix.matmul(iterated_inverse(matrix, i, NystromStart::per_matrix));
    EXPECT_NEAR(product[1][1].item<double>(), x[static_cast<size_t>(i)], 1e-14);
    EXPECT_NEAR(product[0][0].item<double>(), 1, 1e-14);
  }
}

TEST(NystromAttention, TheIterationFromOneHalfIsThePrintedOne) {
  // K Z begins at 0.5 for K = sqrt(0.5) beside a column sum of 1.
  const Tensor matrix = torch::tensor({{1.0, 0.0}, {0.0, std::sqrt(0.5)}}, torch::kDouble);
  const auto after = [&](int64_t iterations) {
    return matrix.matmul(iterated_inverse(matrix, iterations, NystromStart::per_matrix))[1][1].item<double>();
  };
  EXPECT_NEAR(after(1), 0.890625, 1e-12);
  EXPECT_NEAR(after(2), 0.998983, 5e-7);
  EXPECT_NEAR(after(3), 0.999999999, 1e-9);
}

TEST(NystromAttention, OnlyTheOriginalStartCouplesTheSamples) {
  const Heads heads = random_heads(2, 2, 12, 4);
  const auto difference = [&](NystromStart start) {
    const Mix mix = nystrom({.landmarks = 4, .iterations = 2, .start = start}, Masking::right);
    const Tensor alone = mix(narrowed(heads, 0, 0, 1), std::nullopt), together = mix(heads, std::nullopt);
    const Tensor other = mix(narrowed(heads, 0, 1, 1), std::nullopt);
    return (at::cat({alone, other}) - together).abs().max().item<double>();
  };
  EXPECT_LT(difference(NystromStart::per_matrix), 1e-12);
  EXPECT_GT(difference(NystromStart::original), 1e-6);
}

TEST(NystromAttention, GradientsAreThoseOfFiniteDifferences) {
  const Tensor padding = torch::tensor({{false, false, true, false, false, false, true}});
  for (const int64_t landmarks : {2, 3, 7}) {
    expect_gradients(nystrom({.landmarks = landmarks}, Masking::right), random_heads(1, 2, 7, 3), padding);
  }
}

TEST(NystromAttention, KeepsWhatEveryRivalShould) {
  for (const int64_t landmarks : {1, 3, 7, 8}) {
    const Mix mix = nystrom({.landmarks = landmarks}, Masking::right);
    expect_padding_leaves_no_trace(mix);
    expect_no_nan_without_tokens(mix);
    expect_no_nan_without_tokens(nystrom({.landmarks = 2}, Masking::right));
  }
}

TEST(NystromAttention, PaddingMayStandAnywhere) {
  const Heads heads = random_heads(1, 2, 9, 4);
  const Mix mix = nystrom({.landmarks = 3}, Masking::right);
  const Tensor padding = torch::tensor({{true, false, false, true, false, false, true, false, false}});
  const Tensor real = padding[0].logical_not().nonzero().view(-1);
  const auto kept = [&](const Tensor& x) { return x.index_select(2, real); };
  EXPECT_TRUE(close(kept(mix(heads, padding)),
                    mix({.q = kept(heads.q), .k = kept(heads.k), .v = kept(heads.v)}, std::nullopt), 1e-12));
}

TEST(NystromAttention, OptionsAreCheckedInOneLine) {
  const auto message_with = [](const NystromKindOptions& own) {
    return error_of([&] { make_nystrom_attention({.kind = "nystrom", .width = 8, .nystrom = own}); });
  };
  EXPECT_EQ(message_with({.landmarks = 0}), "nystrom_attention: landmarks must be at least 1, got 0");
  EXPECT_EQ(message_with({.iterations = 0}), "nystrom_attention: iterations must be at least 1, got 0");
  EXPECT_EQ(message_with({.kernel = 4}), "nystrom_attention: kernel must be odd, or 0 for none, got 4");
  EXPECT_EQ(error_of([] {
              nystrom_attention(random_heads(1, 1, 10, 2), {.landmarks = 4}, std::nullopt, Masking::published);
            }),
            "nystrom_attention: the published masking needs a multiple of 4 tokens, got 10");
}

}  // namespace
}  // namespace primal::nn::rivals
