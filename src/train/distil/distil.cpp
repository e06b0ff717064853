#include "train/distil/distil.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "models/module_tensors.h"
#include "primal/error.h"
#include "train/distil/kernel_pairs.h"
#include "train/distil/output_directions.h"
#include "train/distil/output_fit.h"
#include "train/distil/shifted_projections.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace primal::train {

namespace {

using at::Tensor;
using models::Tensors;

constexpr int64_t kLooks = 10;  // at the held-out sequences
constexpr double kLargestGradient = 1;
constexpr double kShifts[] = {0, 2, 8};                 // of queries and keys
constexpr double kDirectionRidges[] = {1e-4, 1e-2, 1};  // with which the outputs say what they need

// Weight and bias of a projection; a bias that only one of both has counts as 0.
void take_projection(torch::nn::Linear& own, const Tensors& teacher, const std::string& name) {
  const auto weight = teacher.find(name + ".weight"), bias = teacher.find(name + ".bias");
  if (weight == teacher.end() || weight->second.sizes() != own->weight.sizes()) return;
  own->weight.copy_(weight->second);
  if (!own->bias.defined()) return;
  bias == teacher.end() ? own->bias.zero_() : own->bias.copy_(bias->second);
}

// A kind without keys of its own compares queries with queries.
void take_projections(PrimalAttentionImpl& layer, const torch::nn::Module& teacher) {
  const at::NoGradGuard no_grad;
  const Tensors tensors = models::tensors_of(teacher);
  take_projection(layer.q_proj, tensors, "q_proj");
  take_projection(layer.k_proj, tensors, tensors.contains("k_proj.weight") ? "k_proj" : "q_proj");
}

// The mean square of y about its mean, summed over the channels.
double variance_of(const std::vector<LayerSample>& samples) {
  double squares = 0, rows = 0;
  Tensor sum;
  for (const LayerSample& sample : samples) {
    const Tensor y = real_rows(sample, sample.y).to(at::kDouble);
    squares += y.square().sum().item<double>();
    rows += static_cast<double>(y.size(0));
    sum = sum.defined() ? sum + y.sum(0) : y.sum(0);
  }
  return squares / rows - sum.square().sum().item<double>() / (rows * rows);
}

// Lambda has no part in the output.
std::vector<Optimizer::Parameter> parameters_of(const PrimalAttentionImpl& layer) {
  std::vector<Optimizer::Parameter> parameters;
  for (const auto& entry : layer.named_parameters()) {
    if (entry.key() != "lam") parameters.push_back({entry.key(), entry.value(), /*decay=*/false});
  }
  return parameters;
}

Tensors copy_of(const PrimalAttentionImpl& layer) {
  Tensors tensors = models::tensors_of(layer);
  for (auto& [name, tensor] : tensors) tensor = tensor.clone();
  return tensors;
}

// Leaves the layer with the best weights that a look at the held-out sequences has found. -> what they explain
double descend(PrimalAttentionImpl& layer, const LayerSamples& samples, const DistilOptions& options, double best) {
  const at::AutoGradMode with_gradient(true);
  Optimizer optimizer(parameters_of(layer), {.kind = OptimizerKind::adam, .lr = options.lr});
  const ScheduleOptions schedule{.kind = ScheduleKind::cosine,
                                 .total_steps = options.steps,
                                 .warmup_steps = std::max<int64_t>(options.steps / kLooks, 1)};
  const double variance = variance_of(samples.fit());
  if (!(variance > 0)) return best;
  Tensors kept = copy_of(layer);
  std::mt19937_64 random(options.seed);
  for (int64_t step = 0; step < options.steps; ++step) {
    const LayerSample& sample = samples.fit()[random() % samples.fit().size()];
    const Tensor out = layer.forward(sample.x, {.query_padding = sample.padding}).out;
    const Tensor rest = real_rows(sample, out) - real_rows(sample, sample.y);
    (rest.square().sum(-1).mean() / variance).backward();
    optimizer.step(learning_rate(schedule, options.lr, step), clip_scale(optimizer.gradient_norm(), kLargestGradient));
    optimizer.zero_grad();
    const int64_t done = step + 1;
    if (kLooks * done / options.steps == kLooks * step / options.steps) continue;
    const double now = explained_share(layer, samples.held_out());
    if (options.tell) options.tell(done, now);
    if (now > best) best = now, kept = copy_of(layer);
  }
  models::load_tensors(layer, kept, "distil");
  return best;
}

// A way to choose We and Wr, and the best that came of it.
struct Choice {
  double share = -std::numeric_limits<double>::infinity();
  Tensors weights{};

  void take(PrimalAttentionImpl& layer, const LayerSamples& samples) {
    const double now = fit_output(layer, samples);
    if (now > share) share = now, weights = copy_of(layer);
  }
};

// Leaves the layer with the best closed form.
void solve(PrimalAttentionImpl& layer, const LayerSamples& samples, DistilFacts& facts) {
  const at::NoGradGuard no_grad;
  const ShiftedProjections projections(layer, samples.fit());
  const Tensors fresh = copy_of(layer);
  Choice random, closed_form;
  for (const double shift : kShifts) {
    if (shift > 0 && !projections.can_shift()) break;
    models::load_tensors(layer, fresh, "distil");
    if (shift > 0) projections.shift(layer, shift);
    random.take(layer, samples);
    const ScoreGrams grams = score_grams(layer, samples.fit());
    put_kernel_pairs(layer, grams);
    closed_form.take(layer, samples);
    const OutputDirections directions(layer, grams, samples.fit());
    for (const double ridge : kDirectionRidges) {
      directions.put(layer, ridge);
      closed_form.take(layer, samples);
    }
  }
  facts.random = random.share;
  facts.closed_form = closed_form.share;
  models::load_tensors(layer, closed_form.weights.empty() ? fresh : closed_form.weights, "distil");
}

void check_samples(const LayerSamples& samples) {
  const auto has_tokens = [](const LayerSample& sample) { return real_rows(sample, sample.y).size(0) > 0; };
  if (std::ranges::none_of(samples.fit(), has_tokens)) throw Error("distil: there is no token to learn from");
  for (const auto* some : {&samples.fit(), &samples.held_out()}) {
    if (!(variance_of(*some) > 0))
      throw Error("distil: all outputs are equal, there is nothing to learn; give more examples");
  }
}

}  // namespace

DistilFacts distil(PrimalAttentionImpl& layer, const torch::nn::Module& teacher, const LayerSamples& samples,
                   const DistilOptions& options) {
  check_samples(samples);
  DistilFacts facts{.sequences = samples.sequences(), .held_out = samples.holds_out()};
  for (const LayerSample& sample : samples.fit()) facts.tokens += real_rows(sample, sample.y).size(0);
  take_projections(layer, teacher);
  solve(layer, samples, facts);
  facts.distilled = facts.closed_form;
  if (options.steps > 0) {
    facts.distilled = descend(layer, samples, options, facts.closed_form);
    put_lambda(layer, score_grams(layer, samples.fit()));
  }
  return facts;
}

}  // namespace primal::train
