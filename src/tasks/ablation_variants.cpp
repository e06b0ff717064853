#include "tasks/ablation_variants.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <ranges>

#include "base/atomic_file.h"
#include "base/format.h"
#include "base/nearest.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "nn/encoder_layer.h"
#include "primal/error.h"
#include "run/config_text.h"
#include "tasks/locations.h"
#include "tasks/resolve.h"

namespace primal::tasks {

namespace {

constexpr double kTolerance = 0.01;  // of the number of parameters

struct Shape {
  std::vector<std::string> kinds;  // of the layers
  std::vector<int64_t> ranks;      // likewise; 1 where a layer has none
  int64_t width = 0, heads = 0, feed_forward = 0, parameters = 0;
  bool samples_rows = false;  // some layer makes its weights from rows of the sequence
};

using Assignments = std::vector<std::string>;

Resolved resolved(ConfigRequest request, const Assignments& set) {
  request.set.insert(request.set.end(), set.begin(), set.end());
  return resolve_config(request);
}

Shape shape_of(torch::nn::Module& model) {
  Shape shape;
  for (const torch::Tensor& parameter : model.parameters()) shape.parameters += parameter.numel();
  for (const auto& module : model.modules()) {
    const auto* layer = module->as<nn::EncoderLayerImpl>();
    if (layer == nullptr) continue;
    const nn::AttentionOptions& attention = layer->attention->options();
    const PrimalAttentionImpl* primal = layer->attention->primal();
    shape.kinds.push_back(attention.kind);
    shape.ranks.push_back(primal != nullptr ? primal->options().rank : 1);
    shape.width = attention.width;
    shape.heads = attention.heads;
    shape.feed_forward = layer->linear1->options.out_features();
    shape.samples_rows |= primal != nullptr && primal->options().data_dependent.value_or(false);
  }
  return shape;
}

// The models of a preset and its variants. The data are read once: the others are made for the facts of the first.
class Models {
 public:
  Models(const ConfigRequest& preset, base::Progress* progress) : preset_(preset) {
    const Resolved wanted = resolved(preset, {});
    const auto task = wanted.family->open(*wanted.config, {.search = data_search_path(preset.data),
                                                           .hold_out = wanted.config->run.protocol == Protocol::honest,
                                                           .progress = progress});
    base::write_file_atomically(facts_file(),
                                task->facts().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    base_ = shape_of(task->model());
    toml_ = wanted.config->toml();
  }

  const ConfigRequest& preset() const { return preset_; }
  const Shape& base() const { return base_; }
  const std::string& toml() const { return toml_; }  // of the preset as it is

  Shape with(const Assignments& set) const {
    const Resolved wanted = resolved(preset_, set);
    const auto task = wanted.family->open(
        *wanted.config, {.search = data_search_path(preset_.data), .hold_out = false, .facts = facts_file()});
    return shape_of(task->model());
  }

 private:
  std::filesystem::path facts_file() const { return folder_.path() / "data.json"; }

  ConfigRequest preset_;
  base::TemporaryFolder folder_;
  Shape base_;
  std::string toml_;
};

std::string assignment(const char* key, int64_t value) { return std::string(key) + "=" + std::to_string(value); }

// With the feed-forward part that gives as many parameters as the preset has: their number is linear in its width.
// `near`: a width to begin with.
Assignments of_equal_parameters(const Models& models, const Assignments& set, int64_t near) {
  const int64_t wanted = models.base().parameters;
  const auto with = [&](int64_t feed_forward) {
    Assignments all = set;
    all.push_back(assignment("model.feed_forward", feed_forward));
    return all;
  };
  const int64_t at = models.with(with(near)).parameters;
  const int64_t slope = models.with(with(near + 1)).parameters - at;
  if (slope <= 0) throw Error("model.feed_forward does not change the number of parameters");
  const double exact = static_cast<double>(near) + static_cast<double>(wanted - at) / static_cast<double>(slope);
  const auto misses = [&](int64_t feed_forward) {
    return std::abs(static_cast<double>(at + slope * (feed_forward - near) - wanted)) >
           kTolerance * static_cast<double>(wanted);
  };
  int64_t chosen = 8 * std::llround(exact / 8);  // whole vectors, if that is near enough
  if (chosen < 1 || misses(chosen)) chosen = std::llround(exact);
  if (chosen < 1) throw Error("it has more parameters than the preset even without a feed-forward part");
  if (misses(chosen)) throw Error("no width of the feed-forward part comes within 1 % of the preset's parameters");
  return with(chosen);
}

// So many layers: the last stays the last, as in Primal.+, and the others are those of the same relative height.
Assignments of_depth(const Shape& base, size_t layers) {
  std::vector<std::string> kinds, ranks;
  for (size_t i = 0; i < layers; ++i) {
    const size_t from = layers == 1 ? base.kinds.size() - 1 : i * (base.kinds.size() - 1) / (layers - 1);
    kinds.push_back(base.kinds[from]);
    ranks.push_back(std::to_string(base.ranks[from]));
  }
  Assignments set = {"model.layers=" + base::joined(kinds, ",")};
  const bool differ = std::ranges::adjacent_find(base.ranks, std::ranges::not_equal_to()) != base.ranks.end();
  if (differ) set.push_back("model.rank=" + base::joined(ranks, ","));
  return set;
}

// The width, in steps of whole vectors of a head where the preset has such, that with a feed-forward part in the
// preset's proportion comes nearest to the preset's parameters; embeddings and heads of a model grow with it, too.
Assignments of_depth_and_width(const Models& models, size_t layers) {
  const Shape& base = models.base();
  const int64_t head = base.width / base.heads, step = base.heads * (head % 4 == 0 && head > 4 ? 4 : 1);
  const auto feed_forward = [&](int64_t width) { return std::max<int64_t>(base.feed_forward * width / base.width, 1); };
  const auto with = [&](int64_t width) {
    Assignments set = of_depth(base, layers);
    set.push_back(assignment("model.width", width));
    return set;
  };
  const auto misses = [&](int64_t width) {
    Assignments set = with(width);
    set.push_back(assignment("model.feed_forward", feed_forward(width)));
    return models.with(set).parameters - base.parameters;
  };
  const double scale = std::sqrt(static_cast<double>(base.kinds.size()) / static_cast<double>(layers));
  int64_t width = std::max<int64_t>(std::llround(scale * static_cast<double>(base.width / step)), 1) * step;
  int64_t missed = misses(width);
  const int64_t towards = missed > 0 ? -step : step;
  while (width + towards > 0) {
    const int64_t next = misses(width + towards);
    if (std::abs(next) >= std::abs(missed)) break;
    width += towards;
    missed = next;
  }
  return of_equal_parameters(models, with(width), feed_forward(width));
}

using MakeSet = std::function<Assignments(const Models& models)>;

struct Recipe {
  const char *name, *group, *change;
  MakeSet set;  // throws Error: the preset has no such variant
};

MakeSet always(const char* assignment) {
  return [assignment](const Models&) { return Assignments{assignment}; };
}

// What J or Lambda alone have a say in.
MakeSet if_it_counts(const char* assignment) {
  return [assignment](const Models& models) {
    if (run::parse_config(models.toml()).number("loss.eta") == 0) {
      throw Error("loss.eta is 0 in the preset, so this changes nothing");
    }
    return Assignments{assignment};
  };
}

MakeSet deeper(bool twice) {
  return [twice](const Models& models) {
    const size_t own = models.base().kinds.size();
    if (!twice && own == 1) throw Error("the preset has one layer");
    return of_depth_and_width(models, twice ? 2 * own : (own + 1) / 2);
  };
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {kBaseVariant, "", "the preset as it is", [](const Models&) { return Assignments{}; }},
      {"eta-0", "KSVD term", "no KSVD term in the loss", always("loss.eta=0")},
      {"stationarity", "KSVD term", "the residual of the KKT conditions in place of J",
       if_it_counts("loss.ksvd=stationarity")},
      {"right", "projections", "the output made of e alone", always("model.projections=right")},
      {"left", "projections", "the output made of r alone", always("model.projections=left")},
      {"independent", "weights", "We and Wr are parameters alone, no rows of the sequence",
       [](const Models& models) {
         if (!models.base().samples_rows) throw Error("the layers of the preset take no rows of the sequence");
         return Assignments{"model.data_dependent=false"};
       }},
      {"exponential", "feature map", "exp(u) of unit length", always("model.feature_map=exponential")},
      {"polynomial", "feature map", "monomials of degree 2", always("model.feature_map=polynomial(2)")},
      {"cosine", "feature map", "u of unit length", always("model.feature_map=cosine")},
      {"identity", "feature map", "u itself", always("model.feature_map=identity")},
      {"lambda-squared", "Lambda", "lam^2", if_it_counts("model.lambda=squared")},
      {"lambda-softplus", "Lambda", "softplus of a parameter", if_it_counts("model.lambda=softplus")},
      {"lambda-exp", "Lambda", "exp of a parameter", if_it_counts("model.lambda=exp")},
      {"softmax", "attention", "softmax in all layers, as many parameters",
       [](const Models& models) {
         const std::vector<std::string> kinds(models.base().kinds.size(), "softmax");
         return of_equal_parameters(models, {"model.layers=" + base::joined(kinds, ",")}, models.base().feed_forward);
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
Variant variant_of(const Recipe& recipe, const Models& models) {
  Variant variant{.name = recipe.name, .group = recipe.group, .change = recipe.change};
  try {
    variant.set = recipe.set(models);
    if (resolved(models.preset(), variant.set).config->toml() == models.toml()) {
      variant.skipped = "the preset is so already";
    } else {
      variant.parameters = models.with(variant.set).parameters;
    }
  } catch (const Error& error) {
    variant.skipped = error.what();
  }
  return variant;
}

}  // namespace

std::vector<Variant> ablation_variants(const ConfigRequest& preset, const std::vector<std::string>& only,
                                       base::Progress* progress) {
  check_names(only);
  if (!resolved(preset, {}).config->train.start_from.empty()) {
    throw Error("train.start_from: the models of an ablation have weights of different shapes");
  }
  const Models models(preset, progress);
  const Shape& base = models.base();
  if (std::ranges::find(base.kinds, "primal") == base.kinds.end()) {
    throw Error(preset.preset + ": an ablation is of primal layers, and this preset has none");
  }
  std::vector<Variant> variants;
  for (const Recipe& recipe : recipes()) {
    const bool is_base = &recipe == &recipes().front();
    if (is_base) {
      variants.push_back({.name = recipe.name, .group = recipe.group, .change = recipe.change});
      variants.back().parameters = base.parameters;
    } else if (only.empty() || std::ranges::find(only, recipe.name) != only.end()) {
      variants.push_back(variant_of(recipe, models));
    }
  }
  const auto asked = variants | std::views::drop(1);
  if (std::ranges::all_of(asked, [](const Variant& variant) { return !variant.skipped.empty(); })) {
    throw Error("nothing to compare: " + variants[1].name + ": " + variants[1].skipped);
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
