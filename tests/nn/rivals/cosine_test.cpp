#include "nn/attention/cosine.h"

#include "nn/rivals/cases.h"

namespace primal::nn::rivals {
namespace {

using tests::close;

Mix cosine(Masking masking) {
  return [masking](const Heads& heads, const std::optional<Tensor>& padding) {
    return cosine_attention(heads, padding, masking);
  };
}

TEST(CosineAttention, GivesThePublishedNumbers) {
  expect_golden(golden_attention("cosine"), cosine(Masking::published));
}

TEST(CosineAttention, GivesTheWorkedExample) {
  EXPECT_TRUE(close(cosine_attention(example(), two_padded(), Masking::published),
                    printed({-.427604, -.713445, .609864, .186426, .489989, .687244, -.066271, .576003,  //
                             -.542524, -.647229, .633776, .320417, .256553, .719386, -.290319, -.723896}),
                    kSixDigits));
}

TEST(CosineAttention, DoesNotFeelTheLengthOfQueriesAndKeys) {
  const Heads heads = random_heads(2, 2, 6, 4);
  const Heads longer{.q = heads.q * 7, .k = heads.k * 0.01, .v = heads.v};
  EXPECT_TRUE(close(cosine(Masking::right)(longer, std::nullopt), cosine(Masking::right)(heads, std::nullopt), 1e-12));
}

TEST(CosineAttention, AVectorOfLengthZeroGivesZeroAndNoNan) {
  Heads heads = random_heads(1, 1, 4, 3);
  heads.q[0][0][2].zero_();
  heads.q.requires_grad_();
  const Tensor out = cosine_attention(heads, std::nullopt, Masking::right);
  EXPECT_EQ(out[0][0][2].abs().max().item<double>(), 0);
  out.sum().backward();
  EXPECT_TRUE(heads.q.grad().isfinite().all().item<bool>());
}

TEST(CosineAttention, GradientsAreThoseOfFiniteDifferences) {
  expect_gradients(cosine(Masking::right), random_heads(1, 2, 5, 3),
                   torch::tensor({{false, false, true, false, true}}));
}

TEST(CosineAttention, KeepsWhatEveryRivalShould) {
  expect_order_does_not_matter(cosine(Masking::right));
  expect_padding_leaves_no_trace(cosine(Masking::right));
  expect_no_nan_without_tokens(cosine(Masking::right));
}

}  // namespace
}  // namespace primal::nn::rivals
