// A run directory made by code, for the tests of the report.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace primal::tests {

/// Ways in which a text could break out of an HTML page.
inline const std::vector<std::string> kHostileNames = {"</script><script>alert(1)</script>", "<!-- <script>",
                                                       "\" onload='x' & {{data}}"};

struct FakeRun {
  std::string config = "[run]\npreset = \"uea/Test\"\nprotocol = \"honest\"\n[train]\nseed = 1\n[loss]\neta = 0.1\n";
  std::string metrics;
  nlohmann::json result = {{"preset", "uea/Test"},
                           {"model", "PrimalFormer"},
                           {"data", "Test"},
                           {"protocol", "honest"},
                           {"seed", 1},
                           {"epochs", 3},
                           {"best_epoch", 2},
                           {"validation_accuracy", nullptr},
                           {"test",
                            {{"accuracy", 0.8},
                             {"loss", 0.5},
                             {"macro_f1", 0.75},
                             {"classes", kHostileNames},
                             {"confusion", {{4, 0, 0}, {1, 2, 0}, {1, 0, 2}}}}},
                           {"seconds", 12.5},
                           {"tokens_per_second", 1000.0},
                           {"peak_memory_mb", 100.0},
                           {"parameters", 1234},
                           {"threads", 2},
                           {"cpu", "AVX2"}};
  nlohmann::json analysis = {{"layers",
                              {{{"index", 0},
                                {"name", "layer 1"},
                                {"rank", 3},
                                {"rows", 8},
                                {"tokens", 8},
                                {"heads", 2},
                                {"lambda", {{0.1, 0.3, 0.2}, {0.6, 0.4, 0.5}}},
                                {"singular_values_e", {3.0, 1.0, 0.5}},
                                {"singular_values_r", {2.0, 1.0, 0.5}},
                                {"effective_rank_e", 2.0},
                                {"effective_rank_r", 2.2}}}}};

  FakeRun() {
    for (int epoch = 1; epoch <= 3; ++epoch) metrics += epoch_line(epoch) + "\n" + evaluation_line(epoch) + "\n";
  }

  static std::string epoch_line(int epoch, double task_loss = 1.5) {
    return nlohmann::json({{"kind", "epoch"},
                           {"epoch", epoch},
                           {"step", 10 * epoch},
                           {"loss", task_loss + 0.01},
                           {"task_loss", task_loss},
                           {"ksvd", 0.1},
                           {"accuracy", 0.5},
                           {"objective", {0.3}},
                           {"gradient_norm", 1.0},
                           {"learning_rate", 0.001},
                           {"seconds", 1.0},
                           {"tokens_per_second", 1000.0}})
        .dump();
  }

  static std::string evaluation_line(int epoch, const std::string& split = "validation") {
    return nlohmann::json({{"kind", "evaluation"},
                           {"split", split},
                           {"epoch", epoch},
                           {"step", 10 * epoch},
                           {"loss", 1.2},
                           {"accuracy", 0.6},
                           {"objective", {0.3}},
                           {"seconds", 0.1}})
        .dump();
  }

  /// A file whose content is null or empty is not written.
  std::filesystem::path write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    const auto write_file = [&](const char* name, const std::string& text) {
      if (!text.empty()) std::ofstream(folder / name, std::ios::binary) << text;
    };
    write_file("config.toml", config);
    write_file("metrics.jsonl", metrics);
    write_file("result.json", result.is_null() ? "" : result.dump());
    write_file("analysis.json", analysis.is_null() ? "" : analysis.dump());
    return folder;
  }
};

}  // namespace primal::tests
