#include "nn/attention/performer.h"

#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/random_features.h"
#include "nn/rivals/cases.h"
#include "nn/rivals/decoding.h"
#include "support/errors.h"

namespace primal::nn::rivals {
namespace {

using tests::close;

Mix performer(const PerformerMath& math) {
  return [math](const Heads& heads, const std::optional<Tensor>& padding) {
    return performer_attention(heads, math, padding);
  };
}

PerformerMath small_math(bool causal, double epsilon = 1e-4) {
  return {.directions = random_directions(6, 4, /*seed=*/5, /*draw=*/0), .epsilon = epsilon, .causal = causal};
}

TEST(PerformerAttention, GivesThePublishedNumbers) {
  const SafetensorsFile file = golden_attention("performer");
  expect_golden(file, performer({.directions = file.tensors.at("projection"), .masking = Masking::published}));
}

TEST(PerformerAttention, GivesTheWorkedExamples) {
  PerformerMath math{.directions = 3 * grid({4, 2}, 9)};
  EXPECT_TRUE(close(performer_attention(example(), math, std::nullopt),
                    printed({.087834, -.420580, .257664, -.073709, .165331, -.008313, .085344, .073246,  //
                             .078928, -.410713, .228159, -.055864, .135472, .019065, .098148, -.424915}),
                    kSixDigits));
  EXPECT_TRUE(close(performer_attention(example(), math, two_padded()),
                    printed({.170821, -.416360, .376100, -.117043, .312013, -.076185, .254847, -.018828,  //
                             .163499, -.410997, .355902, -.106529, .290778, -.057562, .180479, -.416686}),
                    kSixDigits));
  math.masking = Masking::published;
  EXPECT_TRUE(close(performer_attention(example(), math, two_padded()),
                    printed({.146612, -.266919, .260293, -.096368, .223087, -.074248, .191361, -.043968,  //
                             .141707, -.262830, .248032, -.090402, .211386, -.064560, .152712, -.268418}),
                    kSixDigits));
}

// exp(w . x - |x|^2 / 2) / sqrt(m), without any constant. x: [.., d], scaled
Tensor plain_features(const Tensor& x, const Tensor& directions) {
  const double root = std::sqrt(static_cast<double>(directions.size(0)));
  return (x.matmul(directions.t()) - x.square().sum(-1, /*keepdim=*/true) / 2).exp() / root;
}

TEST(PerformerAttention, TheConstantsOfTheExponentCancelWithoutEpsilon) {
  const PerformerMath math = small_math(/*causal=*/false, /*epsilon=*/0);
  const Heads heads = random_heads(2, 3, 9, 4);
  const double scale = std::pow(4.0, -0.25);
  const Tensor weights = plain_features(heads.q * scale, math.directions)
                             .matmul(plain_features(heads.k * scale, math.directions).transpose(-1, -2));
  EXPECT_TRUE(close(performer_attention(heads, math, std::nullopt),
                    weights.matmul(heads.v) / weights.sum(-1, /*keepdim=*/true), 1e-12));
}

TEST(PerformerAttention, ACausalPassIsTheWholePassOfEveryBeginning) {
  // Up to the constants, which differ: with an epsilon both are only close.
  const Heads heads = random_heads(2, 2, 9, 4);
  const Tensor causal = performer_attention(heads, small_math(true, 0), std::nullopt);
  for (const int64_t tokens : {1, 4, 9}) {
    const Tensor whole = performer_attention(narrowed(heads, 2, 0, tokens), small_math(false, 0), std::nullopt);
    EXPECT_TRUE(close(causal.select(2, tokens - 1), whole.select(2, tokens - 1), 1e-5));
  }
}

TEST(PerformerAttention, HugeKeysOverflowNothing) {
  Heads heads = random_heads(1, 2, 8, 4);
  heads = {.q = (heads.q * 1e4).to(at::kFloat).requires_grad_(),
           .k = (heads.k * 1e4).to(at::kFloat).requires_grad_(),
           .v = heads.v.to(at::kFloat)};
  for (const bool causal : {false, true}) {
    PerformerMath math = small_math(causal);
    math.directions = math.directions.to(at::kFloat) * 100;
    const Tensor out = performer_attention(heads, math, std::nullopt);
    EXPECT_TRUE(out.isfinite().all().item<bool>());
    for (const Tensor& gradient : torch::autograd::grad({out.square().sum()}, {heads.q, heads.k})) {
      EXPECT_TRUE(gradient.isfinite().all().item<bool>());
    }
  }
}

TEST(PerformerAttention, GradientsAreThoseOfFiniteDifferences) {
  const Tensor padding = torch::tensor({{false, false, true, false, true}});
  // The constants are none for differences, and cancel only without epsilon.
  for (const bool causal : {false, true}) {
    const PerformerMath math{.directions = random_directions(5, 3, 5, 0), .epsilon = 0, .causal = causal};
    expect_gradients(performer(math), random_heads(1, 2, 5, 3), padding);
  }
}

TEST(PerformerAttention, KeepsWhatEveryRivalShould) {
  expect_order_does_not_matter(performer(small_math(false)));
  for (const bool causal : {false, true}) {
    const Mix mix = performer(small_math(causal));
    expect_padding_leaves_no_trace(mix);
    expect_no_nan_without_tokens(mix);
    expect_means(mix);
  }
}

TEST(RandomDirections, AreOrthogonalInBlocksAndDependOnSeedAndDraw) {
  const Tensor directions = random_directions(11, 4, 5, 0);
  EXPECT_EQ(directions.sizes(), (std::vector<int64_t>{11, 4}));
  for (const int64_t begin : {0, 4, 8}) {
    const Tensor block = directions.narrow(0, begin, std::min<int64_t>(4, 11 - begin));
    const Tensor products = block.matmul(block.t());
    EXPECT_TRUE(close(products, products.diagonal().diag(), 1e-12));
  }
  EXPECT_TRUE(tests::same(random_directions(11, 4, 5, 0), directions));
  EXPECT_FALSE(close(random_directions(11, 4, 5, 1), directions, 1e-3));
  EXPECT_FALSE(close(random_directions(11, 4, 6, 0), directions, 1e-3));
}

TEST(RandomDirections, HaveTheLengthsOfGaussianVectors) {
  // |w|^2 is chi-squared: mean d, variance 2 d
  const Tensor squares = random_directions(40000, 4, 5, 0).square().sum(1);
  EXPECT_NEAR(squares.mean().item<double>(), 4, 5 * std::sqrt(8.0 / 40000));
  EXPECT_NEAR(squares.var().item<double>(), 8, 0.5);
}

TEST(RandomDirections, PointAnywhereWithTheSameChance) {
  const Tensor blocks = random_directions(40000, 4, 5, 0).view({10000, 4, 4});
  const Tensor negative = (blocks < 0).to(at::kDouble).mean(0);
  EXPECT_LT((negative - 0.5).abs().max().item<double>(), 5 * 0.5 / std::sqrt(10000.0));
}

TEST(RandomDirections, EstimateTheSoftmaxKernelBetterThanIndependentOnes) {
  const Tensor q = torch::tensor({0.6, -0.4, 0.3, 0.5}, torch::kDouble);
  const Tensor k = torch::tensor({-0.2, 0.7, 0.4, 0.1}, torch::kDouble);
  constexpr int64_t kBlocks = 40000, kWidth = 4;
  // One estimate per block of orthogonal directions.
  const auto estimates = [&](const Tensor& directions) {
    return (plain_features(q, directions) * plain_features(k, directions)).view({kBlocks, kWidth}).sum(1) * kBlocks;
  };
  torch::manual_seed(4);
  const Tensor orthogonal = estimates(random_directions(kBlocks * kWidth, kWidth, 5, 0));
  const Tensor independent = estimates(torch::randn({kBlocks * kWidth, kWidth}, torch::kDouble));
  const double truth = q.dot(k).exp().item<double>();
  const double error = orthogonal.std().item<double>() / std::sqrt(static_cast<double>(kBlocks));
  EXPECT_NEAR(orthogonal.mean().item<double>(), truth, 4 * error);
  EXPECT_LT(error, 0.005 * truth);  // else the line above says little
  EXPECT_LT(orthogonal.var().item<double>(), independent.var().item<double>());
}

// A layer's own features. redraw: see PerformerKindOptions
std::unique_ptr<Attention> layer(int64_t redraw, std::optional<uint64_t> seed = 7) {
  torch::manual_seed(1);
  return make_performer_attention(
      {.kind = "performer", .width = 8, .heads = 2, .performer = {.features = 5, .redraw = redraw, .seed = seed}});
}

Tensor directions_of(const Attention& attention) { return tensor_of(*attention.module(), "directions").clone(); }

TEST(PerformerLayer, DrawsAnewInTrainingOnlyAndAsTheSeedSays) {
  const Tensor x = torch::randn({2, 6, 8});
  const auto attention = layer(/*redraw=*/3);
  const auto drawn = [](uint64_t draw) { return random_directions(5, 4, 7, draw).to(at::kFloat); };
  for (uint64_t pass = 0; pass < 8; ++pass) {
    attention->forward(x, std::nullopt);
    EXPECT_TRUE(tests::same(directions_of(*attention), drawn(pass / 3))) << pass;
  }
  attention->module()->eval();
  for (int pass = 0; pass < 4; ++pass) attention->forward(x, std::nullopt);
  EXPECT_TRUE(tests::same(directions_of(*attention), drawn(2)));
  attention->module()->train();
  attention->forward(x, std::nullopt);
  EXPECT_TRUE(tests::same(directions_of(*attention), drawn(2)));
  attention->forward(x, std::nullopt);
  EXPECT_TRUE(tests::same(directions_of(*attention), drawn(3)));
}

TEST(PerformerLayer, GoesOnDrawingFromItsBuffers) {
  const Tensor x = torch::randn({2, 6, 8});
  const auto first = layer(2, std::nullopt), second = layer(2, /*seed=*/99);
  for (int pass = 0; pass < 3; ++pass) first->forward(x, std::nullopt);
  const torch::NoGradGuard no_grad;
  for (const auto& buffer : first->module()->named_buffers()) {
    tensor_of(*second->module(), buffer.key().c_str()).copy_(buffer.value());
  }
  for (int pass = 0; pass < 4; ++pass) {
    first->forward(x, std::nullopt);
    second->forward(x, std::nullopt);
    EXPECT_TRUE(tests::same(directions_of(*second), directions_of(*first)));
  }
}

TEST(PerformerLayer, StepsEqualTheWholePass) {
  expect_steps_equal_the_pass(
      {.kind = "performer", .width = 12, .heads = 3, .causal = true, .performer = {.features = 7}});
}

TEST(PerformerLayer, LayersWithoutASeedDiffer) {
  const AttentionOptions options{.kind = "performer", .width = 8, .performer = {.features = 5}};
  torch::manual_seed(1);
  const auto first = make_performer_attention(options), second = make_performer_attention(options);
  EXPECT_FALSE(close(directions_of(*first), directions_of(*second), 1e-3));
}

TEST(PerformerLayer, ARedrawLeavesTheGradientOfTheLastPassAlone) {
  const Tensor x = torch::randn({2, 6, 8});
  const auto gradient = [&](bool redrawn) {
    const auto attention = layer(/*redraw=*/1);
    const Tensor loss = attention->forward(x, std::nullopt).out.square().sum();
    if (redrawn) attention->forward(x, std::nullopt);
    loss.backward();
    return attention->module()->named_parameters()["q_proj.weight"].grad();
  };
  EXPECT_TRUE(tests::same(gradient(true), gradient(false)));
}

TEST(PerformerLayer, OptionsAreCheckedInOneLine) {
  const auto message_with = [](const PerformerKindOptions& own) {
    return tests::error_of([&] { make_performer_attention({.kind = "performer", .width = 8, .performer = own}); });
  };
  EXPECT_EQ(message_with({.features = 0}), "performer_attention: features must be at least 1, got 0");
  EXPECT_EQ(message_with({.redraw = -1}), "performer_attention: redraw must be at least 0, got -1");
  EXPECT_EQ(message_with({.epsilon = -1}), "performer_attention: epsilon must be at least 0, got -1");
}

}  // namespace
}  // namespace primal::nn::rivals
