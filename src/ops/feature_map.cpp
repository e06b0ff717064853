#include "primal/feature_map.h"

#include <ATen/ATen.h>

#include <charconv>
#include <map>
#include <mutex>
#include <optional>

#include "ops/fork.h"
#include "ops/polynomial_map.h"
#include "ops/unit_length.h"
#include "primal/error.h"

namespace primal {

namespace {

class Cosine final : public FeatureMap {
 public:
  at::Tensor forward(const at::Tensor& u) const override { return ops::unit_length(u); }
  at::Tensor backward(const at::Tensor& u, const at::Tensor& grad) const override {
    return ops::unit_length_backward(u, grad);
  }
};

class Exponential final : public FeatureMap {
 public:
  // The largest entry becomes exp(0) = 1: no overflow, and the length is at least 1.
  at::Tensor forward(const at::Tensor& u) const override {
    const at::Tensor positive = (u - u.amax(-1, /*keepdim=*/true)).exp();
    return positive / positive.norm(2, -1, /*keepdim=*/true);
  }
  // f_j = exp(u_j) / |exp(u)|, so df_j / du_k = f_j (1[j = k] - f_k^2).
  at::Tensor backward(const at::Tensor& u, const at::Tensor& grad) const override {
    const at::Tensor f = forward(u);
    return f * grad - f.square() * (f * grad).sum(-1, /*keepdim=*/true);
  }
};

class Identity final : public FeatureMap {
 public:
  at::Tensor forward(const at::Tensor& u) const override { return u; }
  at::Tensor backward(const at::Tensor& /*u*/, const at::Tensor& grad) const override { return grad; }
};

std::mutex mutex;  // of the registry
[[maybe_unused]] const bool survives_fork = ops::fork_waits_for<mutex>();

struct Registry {
  std::map<std::string, std::shared_ptr<const FeatureMap>> maps = {
      {"cosine", std::make_shared<Cosine>()},
      {"exponential", std::make_shared<Exponential>()},
      {"identity", std::make_shared<Identity>()},
  };
};

Registry& registry() {
  static Registry instance;
  return instance;
}

// A bound on the table of monomials, which has degree entries per feature.
constexpr int64_t kHighestDegree = 64;

// "polynomial(3)" -> 3
std::optional<int64_t> polynomial_degree(const std::string& name) {
  constexpr std::string_view prefix = "polynomial(";
  if (!name.starts_with(prefix) || !name.ends_with(')')) return std::nullopt;
  int64_t degree = 0;
  const char* end = name.data() + name.size() - 1;
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, degree);
  if (error != std::errc() || stop != end || degree < 1 || degree > kHighestDegree) return std::nullopt;
  return degree;
}

std::string joined_names() {
  std::string names;
  for (const auto& name : feature_map_names()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

std::shared_ptr<const FeatureMap> find_feature_map(const std::string& name) {
  {
    const std::lock_guard lock(mutex);
    if (const auto found = registry().maps.find(name); found != registry().maps.end()) return found->second;
  }
  const auto degree = polynomial_degree(name);
  if (!degree) throw Error("feature map \"" + name + "\" is not known; known: " + joined_names());
  auto map = std::make_shared<ops::Polynomial>(*degree);
  const std::lock_guard lock(mutex);
  return registry().maps.emplace(name, std::move(map)).first->second;
}

void register_feature_map(const std::string& name, std::shared_ptr<const FeatureMap> map) {
  if (map == nullptr) throw Error("feature map \"" + name + "\": no map given");
  const std::lock_guard lock(mutex);
  if (name.starts_with("polynomial") || !registry().maps.emplace(name, std::move(map)).second) {
    throw Error("feature map \"" + name + "\" is registered already");
  }
}

std::vector<std::string> feature_map_names() {
  const std::lock_guard lock(mutex);
  std::vector<std::string> names = {"polynomial(degree)"};
  for (const auto& [name, map] : registry().maps) {
    if (!polynomial_degree(name)) names.push_back(name);
  }
  return names;
}

}  // namespace primal
