#include "tasks/ablation_variants.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ranges>

#include "base/format.h"
#include "base/nearest.h"
#include "base/text.h"
#include "nn/encoder_layer.h"
#include "primal/error.h"
#include "tasks/locations.h"

namespace primal::tasks {

namespace {

constexpr double kTolerance = 0.01;  // of the number of parameters

struct Shape {
  std::vector<std::string> kinds;  // of the layers
  int64_t width = 0, heads = 0, feed_forward = 0, parameters = 0;
  bool samples_rows = false;  // some layer makes its weights from rows of the sequence
};

using Assignments = std::vector<std::string>;

Resolved resolved(ConfigRequest request, const Assignments& set) {
  request.set.insert(request.set.end(), set.begin(), set.end());
  return resolve_config(request);
}

Shape shape_of(const ConfigRequest& preset, const Assignments& set = {}) {
  const Resolved wanted = resolved(preset, set);
  const auto task = wanted.family->open(*wanted.config, {.search = data_search_path(preset.data),
                                                         .hold_out = wanted.config->run.protocol == Protocol::honest});
  Shape shape;
  for (const torch::Tensor& parameter : task->model().parameters()) shape.parameters += parameter.numel();
  for (const auto& module : task->model().modules()) {
    const auto* layer = module->as<nn::EncoderLayerImpl>();
    if (layer == nullptr) continue;
    const nn::AttentionOptions& attention = layer->attention->options();
    shape.kinds.push_back(attention.kind);
    shape.width = attention.width;
    shape.heads = attention.heads;
    shape.feed_forward = layer->linear1->options.out_features();
    const PrimalAttentionImpl* primal = layer->attention->primal();
    shape.samples_rows |= primal != nullptr && primal->options().data_dependent.value_or(false);
  }
  return shape;
}

std::string assignment(const char* key, int64_t value) { return std::string(key) + "=" + std::to_string(value); }

// With the feed-forward part that gives as many parameters as the preset has: their number is linear in its width.
Assignments of_equal_parameters(const ConfigRequest& preset, const Shape& base, Assignments set) {
  const auto with = [&](int64_t feed_forward) {
    Assignments all = set;
    all.push_back(assignment("model.feed_forward", feed_forward));
    return all;
  };
  const int64_t at = shape_of(preset, with(base.feed_forward)).parameters;
  const int64_t slope = shape_of(preset, with(base.feed_forward + 1)).parameters - at;
  if (slope <= 0) throw Error("model.feed_forward does not change the number of parameters");
  const double exact =
      static_cast<double>(base.feed_forward) + static_cast<double>(base.parameters - at) / static_cast<double>(slope);
  const auto misses = [&](int64_t feed_forward) {
    return std::abs(static_cast<double>(at + slope * (feed_forward - base.feed_forward) - base.parameters)) >
           kTolerance * static_cast<double>(base.parameters);
  };
  int64_t chosen = 8 * std::llround(exact / 8);  // whole vectors, if that is near enough
  if (chosen < 1 || misses(chosen)) chosen = std::llround(exact);
  if (chosen < 1) throw Error("it has more parameters than the preset even without a feed-forward part");
  if (misses(chosen)) throw Error("no width of the feed-forward part comes within 1 % of the preset's parameters");
  return with(chosen);
}

// So many layers of width D scale: the last stays the last, as in Primal.+.
Assignments of_depth(const Shape& base, size_t layers, double scale) {
  std::vector<std::string> kinds(layers, base.kinds.front());
  kinds.back() = base.kinds.back();
  const auto heads = static_cast<double>(base.heads);
  const auto width =
      static_cast<int64_t>(heads * std::max(1.0, std::round(static_cast<double>(base.width) * scale / heads)));
  return {"model.layers=" + base::joined(kinds, ","), assignment("model.width", width)};
}

using MakeSet = std::function<Assignments(const ConfigRequest& preset, const Shape& base)>;

struct Recipe {
  const char *name, *group, *change;
  MakeSet set;  // throws Error: the preset has no such variant
};

MakeSet always(const char* assignment) {
  return [assignment](const ConfigRequest&, const Shape&) { return Assignments{assignment}; };
}

MakeSet deeper(bool twice) {
  return [twice](const ConfigRequest& preset, const Shape& base) {
    const size_t layers = twice ? 2 * base.kinds.size() : base.kinds.size() / 2;
    if (layers == 0) throw Error("the preset has one layer");
    return of_equal_parameters(preset, base, of_depth(base, layers, twice ? std::sqrt(0.5) : std::sqrt(2.0)));
  };
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {"base", "", "the preset as it is", [](const ConfigRequest&, const Shape&) { return Assignments{}; }},
      {"eta-0", "KSVD term", "no KSVD term in the loss", always("loss.eta=0")},
      {"stationarity", "KSVD term", "the residual of the KKT conditions in place of J",
       always("loss.ksvd=stationarity")},
      {"right", "projections", "the output made of e alone", always("model.projections=right")},
      {"left", "projections", "the output made of r alone", always("model.projections=left")},
      {"independent", "weights", "We and Wr are parameters alone, no rows of the sequence",
       [](const ConfigRequest&, const Shape& base) {
         if (!base.samples_rows) throw Error("the layers of the preset take no rows of the sequence");
         return Assignments{"model.data_dependent=false"};
       }},
      {"exponential", "feature map", "exp(u) of unit length", always("model.feature_map=exponential")},
      {"polynomial", "feature map", "monomials of degree 2", always("model.feature_map=polynomial(2)")},
      {"cosine", "feature map", "u of unit length", always("model.feature_map=cosine")},
      {"lambda-squared", "Lambda", "lam^2", always("model.lambda=squared")},
      {"lambda-softplus", "Lambda", "softplus of a parameter", always("model.lambda=softplus")},
      {"lambda-exp", "Lambda", "exp of a parameter", always("model.lambda=exp")},
      {"softmax", "attention", "softmax in all layers, as many parameters",
       [](const ConfigRequest& preset, const Shape& base) {
         const std::vector<std::string> kinds(base.kinds.size(), "softmax");
         return of_equal_parameters(preset, base, {"model.layers=" + base::joined(kinds, ",")});
       }},
      {"deep", "depth", "twice the layers, narrower, as many parameters", deeper(true)},
      {"shallow", "depth", "half the layers, wider, as many parameters", deeper(false)},
  };
  return all;
}

void check_names(const std::vector<std::string>& only) {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) names.emplace_back(recipe.name);
  for (const std::string& name : only) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const auto meant = base::nearest(name, names);
    throw Error("--only: there is no variant " + name + (meant ? "; did you mean " + *meant + "?" : "") +
                " (--help lists all)");
  }
}

// An Error here says what the preset lacks for it: the preset itself and its data have been read.
Variant variant_of(const Recipe& recipe, const ConfigRequest& preset, const Shape& base, const std::string& base_toml) {
  Variant variant{.name = recipe.name, .group = recipe.group, .change = recipe.change};
  try {
    variant.set = recipe.set(preset, base);
    if (resolved(preset, variant.set).config->toml() == base_toml) {
      variant.skipped = "the preset is so already";
    } else {
      variant.parameters = shape_of(preset, variant.set).parameters;
    }
  } catch (const Error& error) {
    variant.skipped = error.what();
  }
  return variant;
}

}  // namespace

std::vector<Variant> ablation_variants(const ConfigRequest& preset, const std::vector<std::string>& only) {
  check_names(only);
  const Shape base = shape_of(preset);
  if (std::ranges::find(base.kinds, "primal") == base.kinds.end()) {
    throw Error(preset.preset + ": an ablation is of primal layers, and this preset has none");
  }
  const std::string base_toml = resolved(preset, {}).config->toml();
  std::vector<Variant> variants = {{.name = recipes().front().name,
                                    .group = recipes().front().group,
                                    .change = recipes().front().change,
                                    .parameters = base.parameters}};
  for (const Recipe& recipe : recipes() | std::views::drop(1)) {
    if (!only.empty() && std::ranges::find(only, recipe.name) == only.end()) continue;
    variants.push_back(variant_of(recipe, preset, base, base_toml));
  }
  return variants;
}

std::string ablation_list() {
  std::string text;
  for (const Recipe& recipe : recipes()) {
    text += base::padded(recipe.name, 16) + "  " + recipe.change + "\n";
  }
  return text;
}

}  // namespace primal::tasks
