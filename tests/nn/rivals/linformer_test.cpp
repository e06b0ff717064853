#include "nn/attention/linformer.h"

#include "nn/rivals/cases.h"
#include "support/errors.h"

namespace primal::nn::rivals {
namespace {

using tests::close;
using tests::error_of;

Mix linformer(const Tensor& e) {
  return
      [e](const Heads& heads, const std::optional<Tensor>& padding) { return linformer_attention(heads, e, padding); };
}

Tensor random_map(int64_t heads, int64_t rows, int64_t tokens) {
  torch::manual_seed(8);
  return torch::randn({heads, rows, tokens}, torch::kDouble);
}

TEST(LinformerAttention, GivesThePublishedNumbers) {
  const SafetensorsFile file = golden_attention("linformer");
  expect_golden(file, linformer(file.tensors.at("param.E").requires_grad_()), {"E"});
}

TEST(LinformerAttention, GivesTheWorkedExample) {
  EXPECT_TRUE(close(linformer_attention(example(), grid({1, 3, 8}, 2), two_padded()),
                    printed({.146852, .304317, .261701, .333952, .240056, .328651, .216933, .322910,  //
                             .137935, .302038, .254658, .332236, .232506, .326785, .155703, .306572}),
                    kSixDigits));
}

TEST(LinformerAttention, WithTheIdentityIsTheSoftmax) {
  const Heads heads = random_heads(2, 3, 9, 4);
  const Tensor identity = torch::eye(9, torch::kDouble).expand({3, 9, 9});
  EXPECT_TRUE(close(linformer_attention(heads, identity, std::nullopt), plain_softmax_attention(heads), 1e-12));
}

TEST(LinformerAttention, ShorterSequencesUseTheFirstColumns) {
  const Heads heads = random_heads(2, 2, 6, 4);
  const Tensor e = random_map(2, 3, 10);
  EXPECT_TRUE(close(linformer_attention(heads, e, std::nullopt),
                    linformer_attention(heads, e.narrow(2, 0, 6).contiguous(), std::nullopt), 1e-12));
  EXPECT_EQ(error_of([&] { linformer_attention(random_heads(1, 2, 11, 4), e, std::nullopt); }),
            "linformer_attention: made for at most 10 tokens, got 11");
}

TEST(LinformerAttention, GradientsAreThoseOfFiniteDifferences) {
  expect_gradients(linformer(random_map(2, 3, 5)), random_heads(1, 2, 5, 3),
                   torch::tensor({{false, false, true, false, true}}));
}

TEST(LinformerAttention, KeepsWhatEveryRivalShould) {
  expect_padding_leaves_no_trace(linformer(random_map(2, 3, 12)));
  expect_no_nan_without_tokens(linformer(random_map(2, 3, 12)));
}

TEST(LinformerAttention, HasToKnowTheLongestSequence) {
  const auto message_with = [](int64_t tokens, int64_t rows) {
    return error_of([&] {
      make_linformer_attention({.kind = "linformer", .width = 8, .tokens = tokens, .linformer = {.rows = rows}});
    });
  };
  EXPECT_EQ(message_with(0, 4), "linformer_attention: tokens must be the length of the longest sequence, got 0");
  EXPECT_EQ(message_with(9, 0), "linformer_attention: rows must be at least 1, got 0");
}

}  // namespace
}  // namespace primal::nn::rivals
