// primal info: versions, CPU features, and which kernels run here.
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "kernels/cpu_features.h"
#include "kernels/cpu_target.h"
#include "ops/fused/attention.h"
#include "primal/feature_map.h"

namespace primal::cli {

namespace {

void print_line(const char* name, const std::string& value) { std::printf("%-14s %s\n", name, value.c_str()); }

std::string features(bool present) {
  std::string names;
  for (const auto& feature : kernels::cpu_features()) {
    if (feature.present == present) names += (names.empty() ? "" : " ") + feature.name;
  }
  return names.empty() ? "-" : names;
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

int run() {
  print_line("primal", PRIMAL_VERSION);
  print_line("LibTorch", TORCH_VERSION);
  print_line("threads", std::to_string(at::get_num_threads()));
  print_line("CPU", kernels::cpu_name());
  print_line("  has", features(true));
  print_line("  lacks", features(false));
  print_line("LibTorch uses", at::get_cpu_capability());
  std::string maps;
  for (const auto& name : feature_map_names()) maps += (maps.empty() ? "" : ", ") + name;
  print_line("feature maps", maps);
  print_operators();
  print_kernels();
  return 0;
}

}  // namespace

void add_info(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("info", "Versions, CPU features, and which kernels are used and why");
  command->callback([&chosen] { chosen = run; });
}

}  // namespace primal::cli
