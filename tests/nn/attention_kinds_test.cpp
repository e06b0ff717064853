// What holds for every kind of attention in the list.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "nn/attention/kinds.h"
#include "nn/encoder_layer.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

using tests::close;
using tests::error_of;
using torch::Tensor;

AttentionOptions small(const std::string& kind, bool causal = false) {
  return {.kind = kind, .width = 12, .heads = 3, .causal = causal, .tokens = 9, .primal = {.rank = 4, .rows = 5}};
}

std::vector<std::string> parameter_names(const torch::nn::Module& module) { return module.named_parameters().keys(); }

// Calls body with the name of each kind.
template <typename Body>
void for_every_kind(const Body& body) {
  for (const std::string& kind : attention_kinds()) {
    SCOPED_TRACE(kind);
    torch::manual_seed(2);
    body(kind);
  }
}

// A kind that does the least.
class Identity : public Attention {
 public:
  using Attention::Attention;
  std::shared_ptr<torch::nn::Module> module() const override { return torch::nn::Linear(1, 1).ptr(); }
  AttentionResult forward(const Tensor& x, const std::optional<Tensor>&) override { return {x}; }
};

TEST(AttentionKinds, AreOneListOfNamesAndHelp) {
  EXPECT_EQ(attention_kinds(), (std::vector<std::string>{"primal", "softmax"}));
  for (const AttentionKind& kind : attention_kind_list()) EXPECT_GT(std::string(kind.help).size(), 10u) << kind.name;
}

TEST(AttentionKinds, AnUnknownNameGetsTheKnownOnes) {
  EXPECT_EQ(error_of([] { make_attention({.kind = "sofmax", .width = 8}); }),
            "attention: expected one of primal, softmax, got \"sofmax\"");
}

TEST(AttentionKinds, ParametersKeepTheirNames) {
  const auto names = [](const std::string& kind) { return parameter_names(*make_attention(small(kind))->module()); };
  EXPECT_EQ(names("primal"),
            (std::vector<std::string>{"we", "wr", "lam", "q_proj.weight", "q_proj.bias", "k_proj.weight", "k_proj.bias",
                                      "score_proj.weight", "score_proj.bias", "out_proj.weight", "out_proj.bias"}));
  EXPECT_EQ(names("softmax"),
            (std::vector<std::string>{"q_proj.weight", "q_proj.bias", "k_proj.weight", "k_proj.bias", "v_proj.weight",
                                      "v_proj.bias", "out_proj.weight", "out_proj.bias"}));
}

TEST(AttentionKinds, OnlyPrimalHasKsvdTermsAndAPrimalModule) {
  for_every_kind([](const std::string& kind) {
    const auto attention = make_attention(small(kind));
    const auto [out, terms] = attention->forward(torch::randn({2, 9, 12}), std::nullopt);
    EXPECT_EQ(out.sizes(), (std::vector<int64_t>{2, 9, 12}));
    EXPECT_EQ(terms.has_value(), kind == "primal");
    EXPECT_EQ(attention->primal() != nullptr, kind == "primal");
  });
}

TEST(AttentionKinds, RealTokensDoNotFeelPaddedOnes) {
  const Tensor padding = padding_mask(torch::tensor({9, 6, 0}), 9);
  for_every_kind([&](const std::string& kind) {
    for (const bool causal : {false, true}) {
      const auto attention = make_attention(small(kind, causal));
      EXPECT_FALSE(attention->sees_padding());
      const Tensor x = torch::randn({3, 9, 12}), other = x.masked_fill(padding.unsqueeze(-1), 7);
      const Tensor out = attention->forward(x, padding).out;
      EXPECT_TRUE(close(attention->forward(other, padding).out, out, 1e-5));
      EXPECT_EQ(out.masked_fill(padding.logical_not().unsqueeze(-1), 0).abs().max().item<double>(), 0);
    }
  });
}

TEST(AttentionKinds, IgnoredPaddingCountsLikeAnyToken) {
  const Tensor padding = padding_mask(torch::tensor({9, 6}), 9);
  for_every_kind([&](const std::string& kind) {
    AttentionOptions options = small(kind);
    options.padding = Padding::ignore;
    const auto attention = make_attention(options);
    EXPECT_TRUE(attention->sees_padding());
    const Tensor x = torch::randn({2, 9, 12});
    const Tensor masked = attention->forward(x, padding).out, plain = attention->forward(x, std::nullopt).out;
    const Tensor real = padding.logical_not();
    EXPECT_TRUE(close(masked.index({real}), plain.index({real}), 1e-6));
    // As published: only the input of the output projection is zeroed there, so what is left is its bias.
    const Tensor bias = attention->module()->named_parameters()["out_proj.bias"];
    EXPECT_TRUE(close(masked.index({padding}), bias.expand({3, 12}), 1e-6));
  });
}

TEST(AttentionKinds, ACausalOneDoesNotSeeTheFuture) {
  for_every_kind([](const std::string& kind) {
    const auto attention = make_attention(small(kind, /*causal=*/true));
    const Tensor x = torch::randn({2, 9, 12});
    const Tensor whole = attention->forward(x, std::nullopt).out;
    const Tensor begin = attention->forward(x.narrow(1, 0, 4), std::nullopt).out;
    EXPECT_TRUE(close(whole.narrow(1, 0, 4), begin, 1e-5));
  });
}

TEST(AttentionKinds, SizesAreCheckedInOneLine) {
  for_every_kind([](const std::string& kind) {
    const auto message_with = [&](int64_t width, int64_t heads) {
      AttentionOptions options = small(kind);
      options.width = width;
      options.heads = heads;
      return error_of([&] { make_attention(options); });
    };
    EXPECT_EQ(message_with(10, 3), kind + "_attention: width 10 is not divisible by 3 heads");
    EXPECT_EQ(message_with(0, 3), kind + "_attention: width must be at least 1, got 0");
    EXPECT_EQ(message_with(12, 0), kind + "_attention: heads must be at least 1, got 0");
  });
  AttentionOptions options = small("softmax");
  options.dropout = 1.5;
  EXPECT_EQ(error_of([&] { make_attention(options); }),
            "softmax_attention: dropout must be at least 0 and below 1, got 1.5");
}

TEST(AttentionKinds, OnlyCausalOnesDecode) {
  for_every_kind([](const std::string& kind) {
    const std::string refusal = kind + "_attention: a layer that is not causal cannot decode token by token";
    const auto attention = make_attention(small(kind));
    EXPECT_EQ(error_of([&] { attention->initial_state(2); }), refusal);
    const auto state = make_attention(small(kind, /*causal=*/true))->initial_state(2);
    EXPECT_EQ(error_of([&] { attention->step(torch::randn({2, 1, 12}), *state, std::nullopt); }), refusal);
  });
}

TEST(AttentionKinds, AKindWithoutDecodingSaysSo) {
  Identity identity({.kind = "identity", .width = 12});
  const std::string refusal = "identity_attention: this kind cannot decode token by token";
  EXPECT_EQ(error_of([&] { identity.initial_state(2); }), refusal);
  const auto state = make_attention(small("softmax", /*causal=*/true))->initial_state(2);
  EXPECT_EQ(error_of([&] { identity.step(torch::randn({2, 1, 12}), *state, std::nullopt); }), refusal);
}

TEST(AttentionKinds, AStateHasToFit) {
  const auto softmax = make_attention(small("softmax", true)), primal = make_attention(small("primal", true));
  const auto of_softmax = softmax->initial_state(3), of_primal = primal->initial_state(3);
  const auto step = [](Attention& attention, AttentionState& state, int64_t batch) {
    return error_of([&] { attention.step(torch::randn({batch, 1, 12}), state, std::nullopt); });
  };
  EXPECT_EQ(step(*softmax, *of_primal, 3), "softmax_attention: the state was made by another kind of attention");
  EXPECT_EQ(step(*primal, *of_softmax, 3), "primal_attention: the state was made by another kind of attention");
  EXPECT_EQ(step(*softmax, *of_softmax, 2), "softmax_attention: the state is of 3 sequences, the tokens are of 2");
  EXPECT_EQ(step(*primal, *of_primal, 2), "primal_attention: state q_sum must be [B, D] = [2, 12], got [3, 12]");
}

TEST(AttentionKinds, ACloneOfALayerHasAnAttentionOfItsOwn) {
  for_every_kind([](const std::string& kind) {
    EncoderLayer layer(EncoderLayerOptions{.attention = small(kind), .feed_forward = 8});
    const EncoderLayer copy(std::dynamic_pointer_cast<EncoderLayerImpl>(layer->clone()));
    const Tensor x = torch::randn({2, 9, 12});
    const Tensor before = layer(x).out;
    EXPECT_TRUE(tests::same(EncoderLayer(copy)(x).out, before));
    const torch::NoGradGuard no_grad;
    for (Tensor& parameter : copy->attention->module()->parameters()) parameter.add_(1);
    EXPECT_TRUE(tests::same(layer(x).out, before));
    EXPECT_FALSE(close(EncoderLayer(copy)(x).out, before, 1e-3));
  });
}

}  // namespace
}  // namespace primal::nn
