#include "tasks/verify.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "primal/attention.h"
#include "primal/import_reference.h"
#include "primal/safetensors.h"

namespace primal::tasks {

namespace {

using Tensors = std::map<std::string, at::Tensor>;

// What a variant means for our layer. Every one ignores padding, as the research code does.
struct Variant {
  std::string kind;  // naming scheme of the parameters
  bool causal = false;
  bool masked = false;  // has a mask, applied before the output projection
};

const std::map<std::string, Variant>& variants() {
  static const std::map<std::string, Variant> known = {
      {"data_dependent", {.kind = "time_series"}},
      {"data_dependent_masked_output", {.kind = "lra", .masked = true}},
      {"causal_data_independent", {.kind = "rl", .causal = true}},
  };
  return known;
}

// A golden file with its name, so that every complaint can begin with it.
struct GoldenFile {
  std::filesystem::path path;
  SafetensorsFile content;

  [[noreturn]] void fail(const std::string& message) const { throw Error(path.string() + ": " + message); }

  std::string text(const std::string& key) const {
    const auto found = content.metadata.find(key);
    if (found == content.metadata.end()) fail("no \"" + key + "\" in the metadata");
    return found->second;
  }

  template <typename Number>
  Number number(const std::string& key) const {
    const std::string value = text(key);
    Number result{};
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || stop != value.data() + value.size()) {
      fail("metadata \"" + key + "\" is not a number: \"" + value + "\"");
    }
    return result;
  }

  const at::Tensor& tensor(const std::string& name) const {
    const auto found = content.tensors.find(name);
    if (found == content.tensors.end()) fail("no tensor \"" + name + "\"");
    return found->second;
  }

  // The tensors whose names begin with the prefix, under the rest of the name.
  Tensors with_prefix(const std::string& prefix) const {
    Tensors result;
    for (const auto& [name, value] : content.tensors) {
      if (name.starts_with(prefix)) result[name.substr(prefix.size())] = value;
    }
    return result;
  }
};

struct Problem {
  Variant variant;
  PrimalAttentionOptions options;
  KsvdReduction reduction;
  double eta;
};

Problem read_problem(const GoldenFile& file) {
  if (file.content.metadata.contains("model")) {
    file.fail("holds a whole model (" + file.text("model") + "); only attention layers can be verified");
  }
  const auto variant = variants().find(file.text("variant"));
  if (variant == variants().end()) file.fail("unknown variant \"" + file.text("variant") + "\"");
  const std::string squared = file.text("squared");
  if (squared != "per_sample" && squared != "batch_mean") file.fail("unknown form of J^2 \"" + squared + "\"");
  const bool trace_on_data =
      file.content.metadata.contains("trace") && file.content.metadata.at("trace") == "data_dependent";
  const at::Tensor& we = file.tensor("param.We");
  if (we.dim() != 3) file.fail(c10::str("param.We must be [H, rows, s], got ", we.sizes()));
  PrimalAttentionOptions options{
      .width = file.number<int64_t>("D"),
      .heads = file.number<int64_t>("H"),
      .rank = file.number<int64_t>("s"),
      .rows = variant->second.causal ? 0 : we.size(1),
      .causal = variant->second.causal,
      .padding = Padding::ignore,
      .trace = trace_on_data ? Trace::data_dependent : Trace::raw,
      .sampling = Sampling::linspace,
  };
  return {variant->second, options, squared == "per_sample" ? KsvdReduction::per_sample : KsvdReduction::batch_mean,
          file.number<double>("eta")};
}

PrimalAttention make_layer(const GoldenFile& file, const Problem& problem, at::ScalarType dtype) {
  PrimalAttention layer(problem.options);
  layer->to(dtype);
  const torch::NoGradGuard no_grad;
  const Tensors parameters = import_reference(file.with_prefix("param."), problem.variant.kind);
  for (auto& item : layer->named_parameters()) {
    const at::Tensor& value = parameters.at(item.key());
    if (value.sizes() != item.value().sizes()) {
      file.fail(c10::str("parameter ", item.key(), " has shape ", value.sizes(), ", the metadata asks for ",
                         item.value().sizes()));
    }
    item.value().copy_(value);
  }
  return layer;
}

// Le, Lr, J are stored per sample where J is squared per sample, and as a mean over the batch where it is not.
at::Tensor as_stored(const at::Tensor& per_sample, const at::Tensor& stored) {
  return stored.dim() == 0 ? per_sample.mean() : per_sample;
}

// Everything in the file that is a result, computed by us, under the names of the file.
Tensors compute(const GoldenFile& file, const Problem& problem, at::ScalarType dtype) {
  PrimalAttention layer = make_layer(file, problem, dtype);
  const at::Tensor x = file.tensor("x").to(dtype).clone().requires_grad_();
  AttentionInputs inputs;
  if (problem.variant.masked) inputs.query_padding = file.tensor("mask").eq(0);

  auto [out, terms] = layer->forward(x, inputs);
  const at::Tensor loss =
      (out * file.tensor("w").to(dtype)).mean() + ksvd_loss({terms}, problem.eta, problem.reduction);
  loss.backward();
  auto scores = layer->scores(x, inputs);

  Tensors result = {{"out", out},
                    {"e", scores.e},
                    {"r", scores.r},
                    {"Le", as_stored(terms.le, file.tensor("Le"))},
                    {"Lr", as_stored(terms.lr, file.tensor("Lr"))},
                    {"Tr", as_stored(terms.tr, file.tensor("Tr"))},
                    {"J", as_stored(terms.objective(), file.tensor("J"))},
                    {"loss", loss},
                    {"grad.x", x.grad()}};
  for (const auto& item : layer->named_parameters()) result["grad." + item.key()] = item.value().grad();
  return result;
}

// The same results as the file has them; gradients of parameters under our names.
Tensors expected(const GoldenFile& file, const Problem& problem) {
  Tensors result;
  for (const char* name : {"out", "e", "r", "Le", "Lr", "Tr", "J", "loss", "grad.x"}) result[name] = file.tensor(name);
  Tensors gradients = file.with_prefix("grad.");
  gradients.erase("x");
  for (const auto& [name, value] : import_reference(gradients, problem.variant.kind)) result["grad." + name] = value;
  return result;
}

// A gradient that is zero in exact arithmetic (with heads of width 1, those of q and k) holds nothing but rounding,
// about 1e-17: tensors below this size are compared with it instead of with themselves.
constexpr double kSmallestScale = 1e-6;

double relative_error(const at::Tensor& ours, const at::Tensor& golden) {
  if (golden.numel() == 0) return 0;
  const double scale = std::max(golden.abs().max().item<double>(), kSmallestScale);
  return (ours.to(at::kDouble) - golden).abs().max().item<double>() / scale;
}

bool close_in_float(const at::Tensor& ours, const at::Tensor& golden) {
  return at::allclose(ours.to(at::kDouble), golden, /*rtol=*/1.3e-6, /*atol=*/1e-5);
}

}  // namespace

bool Verification::ok() const {
  for (const TensorError& tensor : tensors) {
    if (!tensor.double_is_ok || !tensor.float_is_ok) return false;
  }
  return true;
}

Verification verify_golden_file(const std::filesystem::path& path) {
  const GoldenFile file{path, load_safetensors(path)};
  const Problem problem = read_problem(file);
  try {
    const Tensors in_double = compute(file, problem, at::kDouble), in_float = compute(file, problem, at::kFloat);
    Verification result{file.text("variant"),
                        c10::str("B=", file.text("B"), " N=", file.text("N"), " D=", file.text("D"),
                                 " H=", file.text("H"), " s=", file.text("s")),
                        {}};
    for (const auto& [name, stored] : expected(file, problem)) {
      const at::Tensor golden = stored.to(at::kDouble);
      const at::Tensor& ours = in_double.at(name);
      if (ours.sizes() != golden.sizes()) {
        file.fail(c10::str("tensor ", name, " has shape ", golden.sizes(), ", expected ", ours.sizes()));
      }
      const double error = relative_error(ours, golden);
      result.tensors.push_back({name, error, relative_error(in_float.at(name), golden), error <= kDoubleTolerance,
                                close_in_float(in_float.at(name), golden)});
    }
    return result;
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(path.string())) throw;
    file.fail(message);
  } catch (const c10::Error& error) {  // shapes of w, mask, ... that do not fit together
    file.fail(error.what_without_backtrace());
  }
}

}  // namespace primal::tasks
