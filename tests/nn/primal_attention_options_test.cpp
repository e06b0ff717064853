// How a layer is made: options, parameters, their beginning, copies and its printed form.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "primal/attention.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal {
namespace {

using tests::close;
using tests::error_of;
using tests::same;
using torch::Tensor;
using Shapes = std::map<std::string, std::vector<int64_t>>;

const PrimalAttentionOptions kOptions{.width = 12, .heads = 3, .rank = 2, .rows = 5};

PrimalAttentionOptions with(void (*change)(PrimalAttentionOptions&)) {
  PrimalAttentionOptions options = kOptions;
  change(options);
  return options;
}

Shapes shapes_of(const PrimalAttention& layer) {
  Shapes shapes;
  for (const auto& parameter : layer->named_parameters()) shapes[parameter.key()] = parameter.value().sizes().vec();
  return shapes;
}

std::string printed(const PrimalAttentionOptions& options) {
  std::ostringstream stream;
  PrimalAttention(options)->pretty_print(stream);
  return stream.str();
}

TEST(PrimalAttentionOptions, ThatDoNotFitTogetherAreRefused) {
  using O = PrimalAttentionOptions;
  const std::vector<std::pair<O, std::string>> cases = {
      {O{}, "width must be at least 1, got 0"},
      {with([](O& o) { o.width = -3; }), "width must be at least 1, got -3"},
      {with([](O& o) { o.heads = 0; }), "heads must be at least 1, got 0"},
      {with([](O& o) { o.width = 510, o.heads = 8; }), "width 510 is not divisible by 8 heads"},
      {with([](O& o) { o.rank = 0; }), "rank must be at least 1, got 0"},
      {with([](O& o) { o.rows = -1; }), "rows must be at least 1, got -1"},
      {with([](O& o) { o.causal = true, o.data_dependent = true; }),
       "causal attention needs data-independent weights: data-dependent ones are made from the whole sequence"},
  };
  for (const auto& [options, expected] : cases) {
    const auto& refused = options;
    EXPECT_EQ(error_of([&] { PrimalAttention layer(refused); }), "primal_attention: " + expected);
  }
}

TEST(PrimalAttentionOptions, AnUnknownFeatureMapIsRefusedAtOnce) {
  const auto options = with([](PrimalAttentionOptions& o) { o.feature_map = "softmax"; });
  const std::string message = error_of([&] { PrimalAttention layer(options); });
  EXPECT_TRUE(tests::contains(message, "feature map \"softmax\" is not known; known: "));
}

TEST(PrimalAttentionOptions, AFeatureMapWithTooManyFeaturesIsRefusedAtOnce) {
  for (const bool data_dependent : {false, true}) {
    const PrimalAttentionOptions options{.width = 512,
                                         .heads = 1,
                                         .rank = 2,
                                         .rows = 5,
                                         .feature_map = "polynomial(3)",
                                         .data_dependent = data_dependent};
    const std::string message = error_of([&] { PrimalAttention layer(options); });
    EXPECT_TRUE(tests::contains(message, "width 512 has more than 65536 monomials"));
  }
}

TEST(PrimalAttentionOptions, DefaultsAreCompleted) {
  const PrimalAttentionOptions options{.width = 12, .rank = 3};
  EXPECT_EQ(PrimalAttention(options)->options().rows, 30);
  EXPECT_EQ(PrimalAttention(options)->options().data_dependent, true);
  const PrimalAttentionOptions causal{.width = 12, .rank = 3, .causal = true};
  EXPECT_EQ(PrimalAttention(causal)->options().data_dependent, false);
}

TEST(PrimalAttentionParameters, HaveTheDocumentedNamesAndShapes) {
  const Shapes projections = {{"q_proj.weight", {12, 12}},
                              {"k_proj.weight", {12, 12}},
                              {"score_proj.weight", {4, 4}},
                              {"out_proj.weight", {12, 12}},
                              {"lam", {3, 2}}};
  Shapes data_dependent = projections, causal = projections, polynomial = projections;
  data_dependent.merge(Shapes{{"we", {3, 5, 2}},
                              {"wr", {3, 5, 2}},
                              {"q_proj.bias", {12}},
                              {"k_proj.bias", {12}},
                              {"score_proj.bias", {4}},
                              {"out_proj.bias", {12}}});
  causal.merge(Shapes{{"we", {3, 4, 2}}, {"wr", {3, 4, 2}}});
  polynomial.merge(Shapes{{"we", {3, 10, 2}}, {"wr", {3, 10, 2}}});

  using O = PrimalAttentionOptions;
  EXPECT_EQ(shapes_of(PrimalAttention(kOptions)), data_dependent);
  EXPECT_EQ(shapes_of(PrimalAttention(with([](O& o) { o.causal = true, o.bias = false; }))), causal);
  EXPECT_EQ(shapes_of(PrimalAttention(
                with([](O& o) { o.data_dependent = false, o.bias = false, o.feature_map = "polynomial(2)"; }))),
            polynomial);
}

TEST(PrimalAttentionParameters, AllGetAGradientFromOutputAndTerms) {
  PrimalAttention layer(kOptions);
  const auto [out, terms] = layer->forward(torch::randn({2, 6, 12}));
  (out.square().sum() + ksvd_loss({terms}, 1.0)).backward();
  for (const auto& parameter : layer->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().sum().item<double>(), 0) << parameter.key();
  }
}

TEST(PrimalAttentionParameters, ReferenceInitHasOrthonormalHeads) {
  const Tensor heads = PrimalAttention(kOptions)->we.flatten(1);
  EXPECT_TRUE(close(torch::matmul(heads, heads.t()), torch::eye(3), 1e-5));
}

TEST(PrimalAttentionParameters, PerHeadInitHasOrthonormalColumns) {
  PrimalAttention layer(with([](PrimalAttentionOptions& o) { o.init = Init::per_head_orthonormal; }));
  for (const Tensor& weights : {layer->we, layer->wr}) {
    EXPECT_TRUE(close(torch::matmul(weights.transpose(1, 2), weights), torch::eye(2).expand({3, 2, 2}), 1e-5));
  }
}

TEST(PrimalAttentionParameters, ResetGivesThoseOfAFreshLayer) {
  torch::manual_seed(1);
  PrimalAttention layer(kOptions);
  const std::vector<Tensor> parameters = layer->parameters();
  std::vector<Tensor> fresh;
  for (const Tensor& parameter : parameters) fresh.push_back(parameter.detach().clone());
  layer->reset_parameters();
  for (size_t i = 0; i < fresh.size(); ++i) EXPECT_FALSE(close(parameters[i], fresh[i], 1e-6)) << "parameter " << i;
  torch::manual_seed(1);
  layer->reset_parameters();
  for (size_t i = 0; i < fresh.size(); ++i) {
    EXPECT_TRUE(same(parameters[i], fresh[i])) << "parameter " << i;
    EXPECT_TRUE(parameters[i].is_leaf() && parameters[i].requires_grad()) << "parameter " << i;
  }
}

class EveryLambdaForm : public testing::TestWithParam<std::string> {
 protected:
  PrimalAttention layer = [] {
    torch::manual_seed(2);
    const LambdaForm form = GetParam() == "Squared"    ? LambdaForm::squared
                            : GetParam() == "Softplus" ? LambdaForm::softplus
                                                       : LambdaForm::exp;
    return PrimalAttention(PrimalAttentionOptions{.width = 64, .heads = 8, .rank = 50, .rows = 1, .lambda = form});
  }();
};
INSTANTIATE_TEST_SUITE_P(PrimalAttentionParameters, EveryLambdaForm, testing::Values("Squared", "Softplus", "Exp"),
                         [](const auto& form) { return form.param; });

TEST_P(EveryLambdaForm, BeginsAsTheSquareOfAUniformNumber) {
  const Tensor lambda = layer->lambda().detach();
  EXPECT_TRUE(((lambda > 0) & (lambda <= 1.0001)).all().item<bool>());
  EXPECT_NEAR(lambda.mean().item<double>(), 1.0 / 3, 0.05);  // E u^2; 400 numbers: a deviation of 0.015
  EXPECT_NEAR(lambda.sqrt().mean().item<double>(), 0.5, 0.05);
}

TEST_P(EveryLambdaForm, IsMadeFromItsParameter) {
  const Tensor lam = layer->lam.detach().to(torch::kDouble);
  const Tensor expected = GetParam() == "Squared"    ? lam * lam
                          : GetParam() == "Softplus" ? (1 + lam.exp()).log()
                                                     : lam.exp();
  EXPECT_TRUE(close(layer->lambda(), expected, 1e-6));
}

TEST_P(EveryLambdaForm, StaysPositiveForANegativeParameter) {
  torch::NoGradGuard no_grad;
  layer->lam.fill_(-2);
  EXPECT_TRUE((layer->lambda() > 0).all().item<bool>());
}

TEST(PrimalAttentionClone, HasItsOwnParametersAndTheSameOutput) {
  PrimalAttention layer(kOptions);
  const Tensor x = torch::randn({2, 6, 12});
  const auto clone = std::dynamic_pointer_cast<PrimalAttentionImpl>(layer->clone());
  ASSERT_NE(clone, nullptr);
  const Tensor out = layer->forward(x).out;
  EXPECT_TRUE(same(clone->forward(x).out, out));
  {
    torch::NoGradGuard no_grad;
    for (auto& parameter : clone->parameters()) parameter.zero_();
  }
  EXPECT_TRUE(same(layer->forward(x).out, out));
  EXPECT_TRUE(same(clone->forward(x).out, torch::zeros_like(out)));
}

TEST(PrimalAttentionPrint, NamesWhatMatters) {
  EXPECT_EQ(printed(kOptions), "primal::PrimalAttention(width=12, heads=3, rank=2, rows=5, feature_map=cosine)");
  EXPECT_EQ(printed(with([](PrimalAttentionOptions& o) { o.causal = true, o.feature_map = "exponential"; })),
            "primal::PrimalAttention(width=12, heads=3, rank=2, feature_map=exponential, causal)");
}

TEST(PrimalAttention, PrintsTheOptionsThatAreNotTheirDefault) {
  EXPECT_EQ(printed({.width = 8,
                     .heads = 2,
                     .rank = 3,
                     .rows = 4,
                     .padding = Padding::ignore,
                     .bias = false,
                     .trace = Trace::data_dependent,
                     .lambda = LambdaForm::softplus,
                     .init = Init::per_head_orthonormal,
                     .projections = Projections::left,
                     .sampling = Sampling::legacy}),
            "primal::PrimalAttention(width=8, heads=2, rank=3, rows=4, feature_map=cosine, padding=ignore, bias=false, "
            "trace=data_dependent, lambda=softplus, init=per_head_orthonormal, projections=left, "
            "sampling=legacy)");
}

}  // namespace
}  // namespace primal
