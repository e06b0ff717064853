#include "primal/feature_map.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/tensors.h"

namespace primal {
namespace {

using at::Tensor;
using tests::close;
using tests::contains;
using tests::error_of;
using tests::numeric_gradient;
using tests::same;

Tensor phi(const std::string& map, const Tensor& u) { return find_feature_map(map)->forward(u); }

// <phi(u), phi(v)> for every pair of rows
Tensor kernel(const std::string& map, const Tensor& u, const Tensor& v) {
  return torch::matmul(phi(map, u), phi(map, v).transpose(-2, -1));
}

Tensor cosines(const Tensor& u, const Tensor& v) {
  return torch::matmul(u, v.t()) / (u.norm(2, -1, true) * v.norm(2, -1, true).t());
}

Tensor vectors(int64_t count, int64_t width) { return torch::randn({count, width}, at::kDouble); }

class BuiltIn : public testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<const FeatureMap> map = find_feature_map(GetParam());
};
INSTANTIATE_TEST_SUITE_P(FeatureMap, BuiltIn,
                         testing::Values("cosine", "exponential", "identity", "polynomial(1)", "polynomial(2)",
                                         "polynomial(3)"));

TEST_P(BuiltIn, BackwardAgreesWithFiniteDifferences) {
  torch::manual_seed(5);
  const Tensor u = torch::randn({2, 3, 4}, at::kDouble);
  const Tensor grad = torch::randn({2, 3, map->width(4)}, at::kDouble);
  const auto loss = [&](const Tensor& at) { return (map->forward(at) * grad).sum().item<double>(); };
  EXPECT_TRUE(close(map->backward(u, grad), numeric_gradient(loss, u), 1e-8));
}

TEST_P(BuiltIn, MakesAsManyFeaturesAsItSays) {
  for (const int64_t d : {1, 2, 5, 16}) {
    EXPECT_EQ(map->forward(vectors(3, d)).sizes(), (std::vector<int64_t>{3, map->width(d)})) << "d = " << d;
  }
}

TEST_P(BuiltIn, KeepsTheDtypeAndAcceptsNoRows) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const Tensor features = map->forward(torch::empty({2, 0, 4}, dtype));
    EXPECT_TRUE(same(features, torch::empty({2, 0, map->width(4)}, dtype)));
    EXPECT_TRUE(same(map->backward(torch::empty({2, 0, 4}, dtype), features), torch::empty({2, 0, 4}, dtype)));
  }
}

TEST_P(BuiltIn, IsFiniteAtTheZeroVector) {
  const Tensor zero = torch::zeros({1, 4}), features = map->forward(zero);
  EXPECT_TRUE(features.isfinite().all().item<bool>());
  EXPECT_TRUE(map->backward(zero, torch::ones_like(features)).isfinite().all().item<bool>());
}

TEST(FeatureMap, CosineKernelIsTheCosine) {
  const Tensor u = vectors(6, 5), v = vectors(7, 5);
  EXPECT_TRUE(close(kernel("cosine", u, v), cosines(u, v), 1e-13));
}

TEST(FeatureMap, PolynomialKernelIsThePowerOfTheCosine) {
  const Tensor u = vectors(6, 4), v = vectors(7, 4);
  for (int degree = 1; degree <= 4; ++degree) {
    const std::string name = "polynomial(" + std::to_string(degree) + ")";
    EXPECT_TRUE(close(kernel(name, u, v), cosines(u, v).pow(degree), 1e-13)) << name;
  }
}

TEST(FeatureMap, IdentityKernelIsTheInnerProduct) {
  const Tensor u = vectors(6, 4), v = vectors(7, 4);
  EXPECT_TRUE(close(kernel("identity", u, v), torch::matmul(u, v.t()), 1e-14));
}

TEST(FeatureMap, ExponentialIsTheUnitVectorOfTheExponentials) {
  const Tensor u = vectors(6, 4);
  EXPECT_TRUE(close(phi("exponential", u), u.exp() / u.exp().norm(2, -1, true), 1e-13));
  EXPECT_TRUE((phi("exponential", u) > 0).all().item<bool>());
}

TEST(FeatureMap, ExponentialIsSafeForLargeEntries) {
  const Tensor u = torch::tensor({{1e4, -1e4, 9999., 0.}, {-1e4, -1e4, -1e4, -1e4}, {3e38, -3e38, 1., 0.}});
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const Tensor features = phi("exponential", u.to(dtype));
    EXPECT_TRUE(features.isfinite().all().item<bool>() && (features >= 0).all().item<bool>());
    EXPECT_TRUE(close(features.norm(2, -1), torch::ones({3}), 1e-6));
    EXPECT_TRUE(close(features[1], torch::full({4}, 0.5), 1e-6));
    const Tensor gradient = find_feature_map("exponential")->backward(u.to(dtype), torch::ones_like(features));
    EXPECT_TRUE(gradient.isfinite().all().item<bool>());
  }
}

TEST(FeatureMap, ZeroVectorHasZeroCosineFeatures) {
  const Tensor zero = torch::zeros({1, 4});
  EXPECT_TRUE(same(phi("cosine", zero), zero));
  EXPECT_TRUE(same(phi("polynomial(2)", zero), torch::zeros({1, 10})));
  EXPECT_TRUE(close(phi("exponential", zero), torch::full({1, 4}, 0.5), 1e-7));
}

// Below it the published code divides by the clamp instead of the length.
TEST(FeatureMap, CosineClampsTheLengthAt1e12) {
  const Tensor tiny = torch::tensor({{3e-13, 4e-13}}, at::kDouble), small = tiny * 10;
  EXPECT_TRUE(close(phi("cosine", tiny), torch::tensor({{0.3, 0.4}}, at::kDouble), 1e-12));
  EXPECT_TRUE(close(phi("cosine", small), torch::tensor({{0.6, 0.8}}, at::kDouble), 1e-12));
  const Tensor grad = torch::tensor({{1., 2.}}, at::kDouble);
  EXPECT_TRUE(close(find_feature_map("cosine")->backward(tiny, grad), grad * 1e12, 1e-12));
}

TEST(FeatureMap, PolynomialWidthsAreBinomials) {
  EXPECT_EQ(find_feature_map("polynomial(1)")->width(64), 64);
  EXPECT_EQ(find_feature_map("polynomial(2)")->width(64), 2080);
  EXPECT_EQ(find_feature_map("polynomial(3)")->width(8), 120);
  EXPECT_EQ(find_feature_map("polynomial(7)")->width(1), 1);
}

TEST(FeatureMap, PolynomialWithTooManyFeaturesIsRefused) {
  EXPECT_EQ(find_feature_map("polynomial(2)")->width(361), 65341);
  const std::string message = error_of([] { find_feature_map("polynomial(2)")->width(362); });
  EXPECT_EQ(message, "polynomial(2): a head of width 362 has more than 65536 monomials");
  error_of([] { find_feature_map("polynomial(60)")->width(64); });
  error_of([] { phi("polynomial(3)", torch::zeros({1, 512})); });
}

TEST(FeatureMap, UnknownNameIsRefusedWithTheListOfNames) {
  for (const std::string name :
       {"softmax", "", "Cosine", "polynomial", "polynomial(0)", "polynomial(-1)", "polynomial(x)", "polynomial(2",
        "polynomial(2 )", "polynomial(99999999999999999999)"}) {
    const std::string message = error_of([&] { find_feature_map(name); });
    EXPECT_TRUE(message.starts_with("feature map \"" + name + "\" is not known; known: ")) << message;
    for (const char* known : {"cosine", "exponential", "identity", "polynomial(degree)"}) {
      EXPECT_TRUE(contains(message, known));
    }
  }
}

TEST(FeatureMap, NamesListTheGeneralPolynomialOnce) {
  find_feature_map("polynomial(2)");
  const std::vector<std::string> names = feature_map_names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "polynomial(degree)"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "polynomial(2)"), 0);
}

TEST(FeatureMap, ANameIsLookedUpToTheSameMap) {
  EXPECT_EQ(find_feature_map("polynomial(3)"), find_feature_map("polynomial(3)"));
}

}  // namespace
}  // namespace primal
