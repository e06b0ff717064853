// primal verify: our layers, networks and training against golden files.
#include "tasks/verify.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace primal::cli {

namespace {

void print(const std::string& file, const tasks::Verification& result) {
  print_text(file + "\n  " + result.variant + ", " + result.sizes + "\n");
  std::printf("  %-26s %10s %10s\n", "largest relative error", "double", "float");
  for (const auto& tensor : result.tensors) {
    std::printf("  %s %10.1e %10.1e%s%s\n", base::padded(tensor.name, 26).c_str(), tensor.in_double, tensor.in_float,
                tensor.double_is_ok ? "" : "  above 1e-10 in double",
                tensor.float_is_ok ? "" : "  above 1.3e-6 relative + 1e-5 absolute in float");
  }
  const auto failed = std::count_if(result.tensors.begin(), result.tensors.end(),
                                    [](const auto& t) { return !t.double_is_ok || !t.float_is_ok; });
  std::printf("  %s: %zu tensors, %td above tolerance\n", result.ok() ? "ok" : "FAILED", result.tensors.size(), failed);
}

nlohmann::json to_json(const std::string& file, const tasks::Verification& result) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const auto& tensor : result.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"double", tensor.in_double},
                       {"float", tensor.in_float},
                       {"ok", tensor.double_is_ok && tensor.float_is_ok}});
  }
  return {{"file", file},
          {"variant", result.variant},
          {"sizes", result.sizes},
          {"ok", result.ok()},
          {"tensors", std::move(tensors)}};
}

int run(const std::vector<std::string>& files, bool json) {
  bool ok = true;
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& file : files) {
    const tasks::Verification result = tasks::verify_golden_file(file);
    if (json) {
      all.push_back(to_json(file, result));
    } else {
      print(file, result);
    }
    ok = ok && result.ok();
  }
  if (json) print_json(all);
  return ok ? 0 : 1;
}

}  // namespace

void add_verify(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "verify", "Compare our layers, networks and training, in double and in float, with golden files");
  auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("FILE", *files, "golden files (safetensors; docs/golden-files.md)")->required();
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "the errors as JSON");
  command->callback([&chosen, files, json] { chosen = [files, json] { return run(*files, *json); }; });
}

}  // namespace primal::cli
