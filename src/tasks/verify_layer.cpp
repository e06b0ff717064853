#include "tasks/verify_layer.h"

#include <ATen/ATen.h>

namespace primal::tasks {

namespace {

// What a variant means for our layer. Every one ignores padding, as the research code does.
struct Variant {
  std::string kind;  // naming scheme of the parameters
  bool causal = false;
  bool masked = false;  // has a mask, applied before the output projection
};

const Variant& variant_of(const GoldenFile& file) {
  static const std::map<std::string, Variant> known = {
      {"data_dependent", {.kind = "time_series"}},
      {"data_dependent_masked_output", {.kind = "lra", .masked = true}},
      {"causal_data_independent", {.kind = "rl", .causal = true}},
  };
  const auto found = known.find(file.text("variant"));
  if (found == known.end()) file.fail("unknown variant \"" + file.text("variant") + "\"");
  return found->second;
}

KsvdReduction reduction_of(const GoldenFile& file) {
  const std::string& squared = file.text("squared");
  if (squared == "per_sample") return KsvdReduction::per_sample;
  if (squared == "batch_mean") return KsvdReduction::batch_mean;
  file.fail("unknown form of J^2 \"" + squared + "\"");
}

PrimalAttentionOptions options_of(const GoldenFile& file, const Variant& variant) {
  const at::Tensor& we = file.tensor("param.We");
  if (we.dim() != 3) file.fail(c10::str("param.We must be [H, rows, s], got ", we.sizes()));
  const bool trace_on_data = file.has("trace") && file.text("trace") == "data_dependent";
  return {
      .width = file.number<int64_t>("D"),
      .heads = file.number<int64_t>("H"),
      .rank = file.number<int64_t>("s"),
      .rows = variant.causal ? 0 : we.size(1),
      .causal = variant.causal,
      .padding = Padding::ignore,
      .trace = trace_on_data ? Trace::data_dependent : Trace::raw,
      .sampling = Sampling::linspace,
  };
}

// Le, Lr, J are stored per sample where J is squared per sample, and as a mean over the batch where it is not.
at::Tensor as_stored(const at::Tensor& per_sample, const at::Tensor& stored) {
  return stored.dim() == 0 ? per_sample.mean() : per_sample;
}

}  // namespace

Tensors expected_layer_results(const GoldenFile& file) {
  Tensors result = file.gradients(variant_of(file).kind);
  for (const char* name : {"out", "e", "r", "Le", "Lr", "Tr", "J", "loss"}) result[name] = file.tensor(name);
  return result;
}

Tensors computed_layer_results(const GoldenFile& file, at::ScalarType dtype) {
  const Variant& variant = variant_of(file);
  PrimalAttention layer(options_of(file, variant));
  layer->to(dtype);
  file.load_parameters(*layer, "param.", variant.kind);
  const at::Tensor x = file.tensor("x").to(dtype).clone().requires_grad_();
  AttentionInputs inputs;
  if (variant.masked) inputs.query_padding = file.tensor("mask").eq(0);

  auto [out, terms] = layer->forward(x, inputs);
  const at::Tensor loss =
      (out * file.tensor("w").to(dtype)).mean() + ksvd_loss({terms}, file.number<double>("eta"), reduction_of(file));
  loss.backward();
  const auto scores = layer->scores(x, inputs);

  Tensors result = gradients_of(*layer, x);
  result.merge(Tensors{{"out", out},
                       {"e", scores.e},
                       {"r", scores.r},
                       {"Le", as_stored(terms.le, file.tensor("Le"))},
                       {"Lr", as_stored(terms.lr, file.tensor("Lr"))},
                       {"Tr", as_stored(terms.tr, file.tensor("Tr"))},
                       {"J", as_stored(terms.objective(), file.tensor("J"))},
                       {"loss", loss}});
  return result;
}

}  // namespace primal::tasks
