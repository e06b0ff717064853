// The subcommands. Each adds itself to the parser; when chosen, it runs and returns the exit code:
// 0 done, 1 failed, 2 wrong usage or input, 130 interrupted.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace primal::cli {

/// What main() runs after parsing.
using Command = std::function<int()>;

void add_ablate(CLI::App& app, Command& chosen);
void add_analyze(CLI::App& app, Command& chosen);
void add_bench(CLI::App& app, Command& chosen);
void add_convert(CLI::App& app, Command& chosen);
void add_data(CLI::App& app, Command& chosen);
void add_data_make(CLI::App& data, Command& chosen);
void add_eval(CLI::App& app, Command& chosen);
void add_generate(CLI::App& app, Command& chosen);
void add_info(CLI::App& app, Command& chosen);
void add_play(CLI::App& app, Command& chosen);
void add_ksvd(CLI::App& app, Command& chosen);
void add_predict(CLI::App& app, Command& chosen);
void add_report(CLI::App& app, Command& chosen);
void add_sweep(CLI::App& app, Command& chosen);
void add_train(CLI::App& app, Command& chosen);
void add_verify(CLI::App& app, Command& chosen);

}  // namespace primal::cli
