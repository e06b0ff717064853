#include "tasks/ksvd_facts.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "analysis/spectrum_stats.h"
#include "base/format.h"

namespace primal::tasks {

using analysis::Form;
using analysis::KernelKind;
using analysis::KernelSvd;

std::string kernel_text(const analysis::Kernel& kernel) {
  if (kernel.kind == KernelKind::matrix) return "kernel values as given";
  std::string text(base::name_in(analysis::kKernelNames, kernel.kind));
  text += " kernel";
  if (analysis::needs_width(kernel.kind)) text += ", width " + base::format_digits(kernel.width, 4);
  if (kernel.kind != KernelKind::poly) return text;
  text += " of degree " + std::to_string(kernel.degree) + ", offset " + base::format_digits(kernel.offset, 4);
  return kernel.width == 1 ? text : text + ", width " + base::format_digits(kernel.width, 4);
}

std::string form_text(const KernelSvd& svd) {
  if (svd.form == Form::primal) return "primal form with " + std::to_string(svd.left_weights.size(0)) + " features";
  if (!svd.sampled) return "dual form, exact";
  return "Nystrom from " + std::to_string(svd.kept_rows.size(0)) + " rows and " +
         std::to_string(svd.kept_columns.size(0)) + " columns";
}

std::vector<double> numbers_in(const at::Tensor& values) {
  const at::Tensor flat = values.contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

std::vector<double> shares_of(const analysis::KernelSvd& svd) {
  std::vector<double> shares = numbers_in(svd.singular_values);
  for (double& value : shares) value = svd.energy > 0 ? value * value / svd.energy : 0;
  return shares;
}

std::string to_csv(const analysis::KernelSvd& svd) {
  const std::vector<double> values = numbers_in(svd.singular_values), scaled = numbers_in(svd.scaled_values()),
                            shares = shares_of(svd);
  std::string text = "number,singular_value,scaled,share,together\n";
  double together = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    together += shares[i];
    text += base::printed("%zu,%.17g,%.17g,%.9g,%.9g\n", i + 1, values[i], scaled[i], shares[i], together);
  }
  return text;
}

std::string to_text(const KsvdResult& result) {
  constexpr size_t kShown = 20;
  const KernelSvd& svd = result.svd;
  const std::vector<double> values = numbers_in(svd.singular_values), scaled = numbers_in(svd.scaled_values()),
                            shares = shares_of(svd);
  std::string text = result.tables + ": " + kernel_text(svd.kernel) + ", " +
                     base::printed("%ld x %ld kernel values", svd.rows, svd.columns) + ", " + form_text(svd) + "\n";
  text += base::printed("%6s  %14s  %12s  %8s  %8s\n", "number", "singular value", "scaled", "share", "together");
  double together = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    together += shares[i];
    if (i >= kShown && i + 1 < values.size()) continue;
    if (i > kShown) text += "   ...\n";
    text += base::printed("%6zu  %14.6g  %12.5g  %6.2f %%  %6.2f %%\n", i + 1, values[i], scaled[i], 100 * shares[i],
                          100 * together);
  }
  text += base::printed("effective rank %.2f of %zu", analysis::effective_rank(values), values.size());
  text += svd.sampled ? "; singular values and shares are estimates from the sample\n" : "\n";
  for (const auto& [what, path] : result.files) text += base::printed("%-16s", what.c_str()) + path.string() + "\n";
  if (!result.files.empty() && svd.is_symmetric())
    text += "The kernel is symmetric: right features are the left ones.\n";
  return text;
}

nlohmann::json to_json(const KsvdResult& result) {
  const KernelSvd& svd = result.svd;
  nlohmann::json kernel = {{"name", base::name_in(analysis::kKernelNames, svd.kernel.kind)}};
  if (svd.kernel.kind == KernelKind::poly)
    kernel.update({{"degree", svd.kernel.degree}, {"offset", svd.kernel.offset}});
  if (svd.kernel.kind == KernelKind::poly || analysis::needs_width(svd.kernel.kind)) kernel["width"] = svd.kernel.width;
  nlohmann::json files = nlohmann::json::object();
  for (const auto& [what, path] : result.files) files[what] = path.string();
  if (files.contains("left") && svd.is_symmetric()) files["right"] = files["left"];
  nlohmann::json json = {
      {"tables", result.tables},
      {"kernel", kernel},
      {"form", svd.form == Form::primal ? "primal" : "dual"},
      {"rows", svd.rows},
      {"columns", svd.columns},
      {"rank", svd.rank()},
      {"singular_values", numbers_in(svd.singular_values)},
      {"scaled", numbers_in(svd.scaled_values())},
      {"share", shares_of(svd)},
      {"energy", svd.energy},
      {"effective_rank", analysis::effective_rank(numbers_in(svd.singular_values))},
      {"files", files},
      {"seconds", {{"reading", result.reading}, {"solving", result.solving}, {"writing", result.writing}}}};
  if (svd.form == Form::primal) json["features"] = svd.left_weights.size(0);
  json["sampled"] = nullptr;
  if (svd.sampled) json["sampled"] = {{"rows", svd.kept_rows.size(0)}, {"columns", svd.kept_columns.size(0)}};
  return json;
}

}  // namespace primal::tasks
