// What holds for every kind of attention in the list.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "nn/attention/kinds.h"
#include "nn/encoder_layer.h"
#include "support/errors.h"
#include "support/tensors.h"
#include "support/threads.h"

namespace primal::nn {
namespace {

using tests::close;
using tests::error_of;
using torch::Tensor;

AttentionOptions small(const std::string& kind, bool causal = false) {
  return {.kind = kind,
          .width = 12,
          .heads = 3,
          .causal = causal,
          .tokens = 9,
          .primal = {.rank = 4, .rows = 5},
          .linformer = {.rows = 5},
          .performer = {.features = 6},
          .nystrom = {.landmarks = 4, .kernel = 3},
          .window = {.tokens = 4}};
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

const std::vector<std::string> kOnlyBothWays{"cosine", "linformer", "nystrom", "reformer"};

bool can_be_causal(const std::string& kind) {
  return std::find(kOnlyBothWays.begin(), kOnlyBothWays.end(), kind) == kOnlyBothWays.end();
}

// Calls body with the name of each kind, and whether it is to be causal: both, where it can be.
template <typename Body>
void for_every_form(const Body& body) {
  for_every_kind([&](const std::string& kind) {
    body(kind, false);
    if (can_be_causal(kind)) body(kind, true);
  });
}

template <typename Body>
void for_every_causal_kind(const Body& body) {
  for_every_kind([&](const std::string& kind) {
    if (can_be_causal(kind)) body(kind);
  });
}

// A kind that does the least.
class Identity : public Attention {
 public:
  using Attention::Attention;
  std::shared_ptr<torch::nn::Module> module() const override { return torch::nn::Linear(1, 1).ptr(); }
  AttentionResult forward(const Tensor& x, const std::optional<Tensor>&) override { return {x}; }
};

TEST(AttentionKinds, AreOneListOfNamesAndHelp) {
  EXPECT_EQ(attention_kinds(),
            (std::vector<std::string>{"primal", "softmax", "linear", "cosine", "linformer", "performer", "nystrom",
                                      "flow", "cosformer", "window", "reformer"}));
  for (const AttentionKind& kind : attention_kind_list()) EXPECT_GT(std::string(kind.help).size(), 10u) << kind.name;
}

TEST(AttentionKinds, AnUnknownNameGetsTheKnownOnes) {
  EXPECT_EQ(
      error_of([] { make_attention({.kind = "sofmax", .width = 8}); }),
      "attention: expected one of primal, softmax, linear, cosine, linformer, performer, nystrom, flow, cosformer, "
      "window, reformer, got \"sofmax\"");
}

TEST(AttentionKinds, SomeHaveNoCausalForm) {
  for (const std::string& kind : kOnlyBothWays) {
    EXPECT_EQ(error_of([&] { make_attention(small(kind, /*causal=*/true)); }),
              kind + "_attention: this kind has no causal form");
  }
}

TEST(AttentionKinds, ParametersKeepTheirNames) {
  const auto names = [](const std::string& kind) { return parameter_names(*make_attention(small(kind))->module()); };
  EXPECT_EQ(names("primal"),
            (std::vector<std::string>{"we", "wr", "lam", "q_proj.weight", "q_proj.bias", "k_proj.weight", "k_proj.bias",
                                      "score_proj.weight", "score_proj.bias", "out_proj.weight", "out_proj.bias"}));
  const std::vector<std::string> projections{"q_proj.weight", "q_proj.bias", "k_proj.weight",   "k_proj.bias",
                                             "v_proj.weight", "v_proj.bias", "out_proj.weight", "out_proj.bias"};
  for (const char* kind : {"softmax", "linear", "cosine", "performer"}) EXPECT_EQ(names(kind), projections) << kind;
  std::vector<std::string> with_map = projections, with_convolution = projections;
  with_map.insert(with_map.begin(), "E");
  with_convolution.emplace_back("conv.weight");
  EXPECT_EQ(names("linformer"), with_map);
  EXPECT_EQ(names("nystrom"), with_convolution);
  EXPECT_EQ(make_attention(small("performer"))->module()->named_buffers().keys(),
            (std::vector<std::string>{"seed", "passes", "directions"}));
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
  for_every_form([&](const std::string& kind, bool causal) {
    const auto attention = make_attention(small(kind, causal));
    EXPECT_FALSE(attention->sees_padding());
    const Tensor x = torch::randn({3, 9, 12}), other = x.masked_fill(padding.unsqueeze(-1), 7);
    const Tensor out = attention->forward(x, padding).out;
    EXPECT_TRUE(close(attention->forward(other, padding).out, out, 1e-5));
    EXPECT_EQ(out.masked_fill(padding.logical_not().unsqueeze(-1), 0).abs().max().item<double>(), 0);
  });
}

TEST(AttentionKinds, ASequenceFeelsNeitherHowFarItIsPaddedNorTheRestOfTheBatch) {
  const Tensor padding = padding_mask(torch::tensor({9, 6, 0}), 9);
  for_every_form([&](const std::string& kind, bool causal) {
    const auto attention = make_attention(small(kind, causal));
    attention->module()->eval();
    const Tensor x = torch::randn({3, 9, 12}), out = attention->forward(x, padding).out;
    const Tensor alone = attention->forward(x.narrow(0, 1, 1).narrow(1, 0, 6), std::nullopt).out;
    EXPECT_TRUE(close(out.narrow(0, 1, 1).narrow(1, 0, 6), alone, 1e-5));
    EXPECT_TRUE(close(out.narrow(0, 0, 1), attention->forward(x.narrow(0, 0, 1), std::nullopt).out, 1e-5));
  });
}

TEST(AttentionKinds, ASequenceWithoutAnyTokenGivesNoNan) {
  const Tensor padding = padding_mask(torch::tensor({0, 9}), 9);
  for_every_form([&](const std::string& kind, bool causal) {
    const auto attention = make_attention(small(kind, causal));
    const Tensor x = torch::randn({2, 9, 12}).requires_grad_();
    attention->forward(x, padding).out.square().sum().backward();
    EXPECT_EQ(x.grad()[0].abs().max().item<double>(), 0);
    EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
    for (const auto& parameter : attention->module()->named_parameters()) {
      const Tensor gradient = parameter.value().grad();
      EXPECT_TRUE(!gradient.defined() || gradient.isfinite().all().item<bool>()) << parameter.key();
    }
  });
}

TEST(AttentionKinds, PublishedMaskingGivesPaddedTokensAnOutput) {
  const Tensor padding = padding_mask(torch::tensor({9, 6}), 9);
  for_every_kind([&](const std::string& kind) {
    if (kind == "primal") return;  // Padding::ignore is its published form
    AttentionOptions options = small(kind);
    options.masking = Masking::published;
    options.nystrom.landmarks = 3;  // which divide 9 tokens
    const auto attention = make_attention(options);
    EXPECT_TRUE(attention->sees_padding());
    const Tensor out = attention->forward(torch::randn({2, 9, 12}), padding).out;
    EXPECT_GT(out.index({padding}).abs().max().item<double>(), 0);
  });
}

TEST(AttentionKinds, StepsOfPublishedMasksAreTheFullPass) {
  const Tensor padding = padding_mask(torch::tensor({9, 6}), 9), x = torch::randn({2, 9, 12});
  for (const Padding respected : {Padding::respect, Padding::ignore}) {
    AttentionOptions options = small("softmax", /*causal=*/true);
    options.masking = Masking::published;
    options.padding = respected;
    const auto attention = make_attention(options);
    attention->module()->eval();
    const Tensor whole = attention->forward(x, padding).out;
    const auto state = attention->initial_state(2);
    for (int64_t i = 0; i < 9; ++i) {
      const Tensor out = attention->step(x.narrow(1, i, 1), *state, padding.narrow(1, i, 1));
      EXPECT_TRUE(close(whole.narrow(1, i, 1), out, 1e-5)) << i;
    }
  }
}

TEST(AttentionKinds, WorkInDoublePrecisionToo) {
  const Tensor padding = padding_mask(torch::tensor({9, 6}), 9);
  for_every_form([&](const std::string& kind, bool causal) {
    const auto attention = make_attention(small(kind, causal));
    attention->module()->eval();
    const Tensor x = torch::randn({2, 9, 12}), single = attention->forward(x, padding).out;
    attention->module()->to(torch::kDouble);
    const Tensor out = attention->forward(x.to(torch::kDouble), padding).out;
    EXPECT_EQ(out.scalar_type(), torch::kDouble);
    EXPECT_TRUE(close(single, out, 1e-4));
  });
}

// float32 goes by tiles in these kinds, float64 by LibTorch.
TEST(AttentionKinds, TilesAreTheWholeMatrixWithAllGradients) {
  struct Form {
    std::string kind;
    bool causal = false;
    Masking masking = Masking::right;
    Padding padding = Padding::respect;
  };
  constexpr int64_t kTokens = 300;
  const Tensor right = padding_mask(torch::tensor({300, 170}), kTokens);
  for (const Form& form : std::vector<Form>{{"softmax"},
                                            {"softmax", true},
                                            {"softmax", false, Masking::published},
                                            {"softmax", true, Masking::published},
                                            {"softmax", false, Masking::right, Padding::ignore},
                                            {"window"},
                                            {"window", true},
                                            {"window", false, Masking::published},
                                            {"linformer"}}) {
    for (const Tensor& padding : {right, right.flip(1), torch::rand({2, kTokens}) < 0.3}) {
      SCOPED_TRACE(c10::str(form.kind, ", causal ", form.causal, ", published ", form.masking == Masking::published));
      torch::manual_seed(4);
      AttentionOptions options = small(form.kind, form.causal);
      options.masking = form.masking;
      options.padding = form.padding;
      options.tokens = kTokens;
      const auto attention = make_attention(options);
      const Tensor x = torch::randn({2, kTokens, 12}, torch::kDouble), g = torch::randn(x.sizes(), torch::kDouble);
      const auto pass = [&](at::ScalarType dtype) {
        attention->module()->to(dtype);
        attention->module()->zero_grad();
        const Tensor leaf = x.to(dtype).detach().requires_grad_();
        const Tensor out = attention->forward(leaf, padding).out;
        out.backward(g.to(dtype));
        std::map<std::string, Tensor> all{{"out", out.detach()}, {"x", leaf.grad()}};
        for (const auto& parameter : attention->module()->named_parameters()) {
          all[parameter.key()] = parameter.value().grad().clone();
        }
        return all;
      };
      const auto tiles = pass(torch::kFloat), whole = pass(torch::kDouble);
      for (const auto& [name, value] : whole) {
        EXPECT_TRUE(close(tiles.at(name).to(torch::kDouble), value, 1e-4)) << name;
      }
    }
  }
}

TEST(AttentionKinds, WeightsAreDroppedWhileTrainingAndTheirMeanStays) {
  const torch::NoGradGuard no_grad;
  const tests::ThreadsGuard guard;
  at::set_num_threads(1);  // thousands of small passes
  const Tensor x = torch::randn({2, 9, 12}), padding = padding_mask(torch::tensor({9, 6}), 9);
  for (const char* kind : {"softmax", "linformer", "window"}) {
    SCOPED_TRACE(kind);
    for (const at::ScalarType dtype : {torch::kFloat, torch::kDouble}) {
      AttentionOptions options = small(kind);
      options.dropout = 0.2;
      const auto attention = make_attention(options);
      attention->module()->to(dtype);
      const auto pass = [&] { return attention->forward(x.to(dtype), padding).out; };
      const Tensor once = pass();
      EXPECT_FALSE(close(once, pass(), 1e-3));
      constexpr int64_t kPasses = 1000;
      Tensor mean = torch::zeros_like(once);
      for (int64_t i = 0; i < kPasses; ++i) mean += pass() / kPasses;
      attention->module()->eval();
      EXPECT_TRUE(close(mean, pass(), 0.08));
      EXPECT_TRUE(tests::same(pass(), pass()));
    }
  }
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
  for_every_causal_kind([](const std::string& kind) {
    const auto attention = make_attention(small(kind, /*causal=*/true));
    const Tensor x = torch::randn({2, 9, 12});
    const Tensor whole = attention->forward(x, std::nullopt).out;
    const Tensor begin = attention->forward(x.narrow(1, 0, 4), std::nullopt).out;
    EXPECT_TRUE(close(whole.narrow(1, 0, 4), begin, 1e-5));
  });
}

TEST(AttentionKinds, DecodingGivesTheWholeCausalPass) {
  const Tensor right = padding_mask(torch::tensor({9, 5, 0}), 9), left = right.flip(1);
  for_every_causal_kind([&](const std::string& kind) {
    const auto attention = make_attention(small(kind, /*causal=*/true));
    attention->module()->eval();
    const Tensor x = torch::randn({3, 9, 12});
    for (const std::optional<Tensor>& padding : {std::optional<Tensor>(), std::optional(right), std::optional(left)}) {
      const auto state = attention->initial_state(3);
      std::vector<Tensor> parts;
      int64_t begin = 0;
      for (const int64_t more : {1, 1, 3, 4}) {
        std::optional<Tensor> part;
        if (padding) part = padding->narrow(1, begin, more);
        parts.push_back(attention->step(x.narrow(1, begin, more), *state, part));
        begin += more;
      }
      EXPECT_TRUE(close(at::cat(parts, 1), attention->forward(x, padding).out, 1e-5));
    }
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
    const auto state = make_attention(small("softmax", /*causal=*/true))->initial_state(2);
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
  // These two have states of the same type.
  const auto linear = make_attention(small("linear", true)), performer = make_attention(small("performer", true));
  const auto of_linear = linear->initial_state(3);
  EXPECT_EQ(step(*performer, *of_linear, 3), "performer_attention: the state was made by another kind of attention");
  EXPECT_EQ(step(*linear, *of_linear, 2), "linear_attention: the state is of 3 sequences, the tokens are of 2");
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
