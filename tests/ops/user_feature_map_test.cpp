// Feature maps that a user registers.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "primal/attention.h"
#include "primal/feature_map.h"
#include "support/attention.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal {
namespace {

using at::Tensor;
using tests::close;
using tests::contains;
using tests::double_layer;
using tests::error_of;
using tests::expect_agrees_with_plain_attention;

// As many features as the head is wide: f(X) is X itself.
Tensor cubed(const Tensor& u) { return u + u.pow(3); }
struct Cubed final : FeatureMap {
  Tensor forward(const Tensor& u) const override { return cubed(u); }
  Tensor backward(const Tensor& u, const Tensor& grad) const override { return grad * (1 + 3 * u.square()); }
};

// More features than that: the sampled rows go through the map as well.
Tensor waves(const Tensor& u) { return torch::cat({u.sin(), u.cos()}, -1); }
struct Waves final : FeatureMap {
  int64_t width(int64_t d) const override { return 2 * d; }
  Tensor forward(const Tensor& u) const override { return waves(u); }
  Tensor backward(const Tensor& u, const Tensor& grad) const override {
    const std::vector<Tensor> parts = grad.chunk(2, -1);
    return parts[0] * u.cos() - parts[1] * u.sin();
  }
};

struct Named {
  std::string name;
  std::shared_ptr<const FeatureMap> map;
  tests::PlainFeatureMap formula;
};

const std::vector<Named>& user_maps() {
  static const std::vector<Named> maps = [] {
    std::vector<Named> result = {{"cubed", std::make_shared<Cubed>(), cubed},
                                 {"waves", std::make_shared<Waves>(), waves}};
    for (const auto& [name, map, formula] : result) register_feature_map(name, map);
    return result;
  }();
  return maps;
}

PrimalAttentionOptions with_map(const std::string& name) {
  return {.width = 6, .heads = 2, .rank = 2, .rows = 3, .feature_map = name};
}

TEST(UserFeatureMap, IsFoundAndListedOnceRegistered) {
  for (const auto& [name, map, formula] : user_maps()) {
    EXPECT_EQ(find_feature_map(name), map);
    const std::vector<std::string> names = feature_map_names();
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1);
    EXPECT_TRUE(contains(error_of([] { find_feature_map("nothing"); }), name));
  }
}

TEST(UserFeatureMap, WorksInAttentionLikeItsFormula) {
  for (const auto& [name, map, formula] : user_maps()) {
    SCOPED_TRACE(name);
    const Tensor x = torch::randn({2, 5, 6}, at::kDouble);
    PrimalAttentionOptions options = with_map(name);
    expect_agrees_with_plain_attention(double_layer(options), formula, x);
    options.data_dependent = false;
    expect_agrees_with_plain_attention(double_layer(options), formula, x);
    options.causal = true;
    expect_agrees_with_plain_attention(double_layer(options), formula, x);
  }
}

// phi(0) is not 0, so that rows which are not there must be left out rather than be taken as zeros.
TEST(UserFeatureMap, PaddedKeysAreAsGoodAsNoKeys) {
  user_maps();
  PrimalAttention layer = double_layer(with_map("waves"));
  const Tensor x = torch::randn({2, 5, 6}, at::kDouble), key = torch::randn({2, 3, 6}, at::kDouble);
  const Tensor none = layer->forward(x, {.key = key.narrow(1, 0, 0)}).out;
  EXPECT_TRUE(close(layer->forward(x, {.key = key, .key_padding = torch::ones({2, 3}, at::kBool)}).out, none, 1e-13));
}

TEST(UserFeatureMap, ItsWidthShapesTheDataIndependentWeights) {
  user_maps();
  PrimalAttentionOptions options = with_map("waves");
  options.causal = true;
  EXPECT_EQ(PrimalAttention(options)->we.sizes(), (std::vector<int64_t>{2, 6, 2}));
}

TEST(UserFeatureMap, ATakenNameIsRefused) {
  user_maps();
  for (const std::string name : {"cubed", "cosine", "polynomial(6)"}) {
    const std::string message = error_of([&] { register_feature_map(name, std::make_shared<Waves>()); });
    EXPECT_EQ(message, "feature map \"" + name + "\" is registered already");
  }
}

TEST(UserFeatureMap, ARefusedRegistrationChangesNothing) {
  user_maps();
  const std::vector<std::string> before = feature_map_names();
  for (const std::string name : {"cubed", "cosine", "polynomial(5)", "polynomial(mine)"}) {
    const auto map = std::make_shared<Waves>();
    error_of([&] { register_feature_map(name, map); });
    EXPECT_TRUE(name == "polynomial(mine)" || find_feature_map(name) != map) << name;
  }
  EXPECT_EQ(feature_map_names(), before);
}

}  // namespace
}  // namespace primal
