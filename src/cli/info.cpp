// primal info: versions, CPU features, and which kernels run here.
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "kernels/cpu_features.h"
#include "kernels/cpu_target.h"
#include "nn/attention/kinds.h"
#include "ops/fused/attention.h"
#include "primal/feature_map.h"

namespace primal::cli {

namespace {

void print_line(const char* name, const std::string& value) { std::printf("%-14s %s\n", name, value.c_str()); }

std::vector<std::string> features(bool present) {
  std::vector<std::string> names;
  for (const auto& feature : kernels::cpu_features()) {
    if (feature.present == present) names.push_back(feature.name);
  }
  return names;
}

std::string listed(const std::vector<std::string>& names, const char* between) {
  return names.empty() ? "-" : base::joined(names, between);
}

void print_kernels() {
  std::printf("\nkernels (PRIMAL_CPU=NAME chooses)\n");
  for (const auto& target : kernels::cpu_targets()) {
    std::printf("  %-10s %-14s %s\n", target.name.c_str(),
                target.used ? "used" : (target.available ? "available" : "not available"), target.reason.c_str());
  }
}

// Which implementation each part of the layer has on this machine.
void print_operators() {
  std::printf("\noperators (torch.ops.primal)\n");
  const bool narrow = ops::fused::has_kernel_for(at::kBFloat16);
  std::printf("  %-22s %s\n", "self-attention, cosine",
              ops::fused::has_kernel_for(at::kFloat) ? "fused kernels, for the target below"
                                                     : "LibTorch, as PRIMAL_FUSED asks");
  std::printf("  %-22s %s\n", "the same, bfloat16", narrow ? "fused kernels in float32" : "LibTorch's matrix products");
  std::printf("  %-22s %s\n", "running means", "own kernel, for the target below");
  std::printf("  %-22s %s\n", "everything else", "LibTorch's matrix products and element-wise kernels");
}

nlohmann::json as_json() {
  nlohmann::json kernels = nlohmann::json::array();
  for (const auto& target : kernels::cpu_targets()) {
    kernels.push_back(
        {{"name", target.name}, {"available", target.available}, {"used", target.used}, {"reason", target.reason}});
  }
  return {
      {"primal", PRIMAL_VERSION},
      {"libtorch", TORCH_VERSION},
      {"threads", at::get_num_threads()},
      {"cpu", kernels::cpu_name()},
      {"cpu_has", features(true)},
      {"cpu_lacks", features(false)},
      {"libtorch_uses", at::get_cpu_capability()},
      {"feature_maps", feature_map_names()},
      {"attention_kinds", nn::attention_kinds()},
      {"fused",
       {{"float32", ops::fused::has_kernel_for(at::kFloat)}, {"bfloat16", ops::fused::has_kernel_for(at::kBFloat16)}}},
      {"kernels", std::move(kernels)}};
}

int run(bool json) {
  if (json) return print_json(as_json()), 0;
  print_line("primal", PRIMAL_VERSION);
  print_line("LibTorch", TORCH_VERSION);
  print_line("threads", std::to_string(at::get_num_threads()));
  print_line("CPU", kernels::cpu_name());
  print_line("  has", listed(features(true), " "));
  print_line("  lacks", listed(features(false), " "));
  print_line("LibTorch uses", at::get_cpu_capability());
  print_line("feature maps", listed(feature_map_names(), ", "));
  print_line("attention", listed(nn::attention_kinds(), ", "));
  print_operators();
  print_kernels();
  return 0;
}

}  // namespace

void add_info(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("info", "Versions, CPU features, and which kernels are used and why");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "as JSON");
  command->callback([&chosen, json] { chosen = [json] { return run(*json); }; });
}

}  // namespace primal::cli
