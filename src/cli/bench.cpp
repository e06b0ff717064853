// primal bench: our layer beside other implementations. The measuring is done in Python (bench/layer_bench), where all
// of them are at home; this finds it and becomes it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "primal/error.h"
#include "tasks/locations.h"

namespace primal::cli {

namespace {

namespace fs = std::filesystem;

fs::path benchmark() {
  fs::path folder = tasks::checkout() / "bench" / "layer_bench";
  if (fs::exists(folder / "__main__.py")) return folder;
  throw Error("there is no " + folder.string() + "; the benchmark runs in a checkout of primal");
}

// PRIMAL_PYTHON may be a name on the PATH.
std::string python() {
  if (const char* chosen = std::getenv("PRIMAL_PYTHON"); chosen && *chosen) return chosen;
  const fs::path own = tasks::checkout() / ".venv" / "bin" / "python";
  if (fs::exists(own)) return own.string();
  throw Error("there is no " + own.string() + "; run ./primal once, or let PRIMAL_PYTHON name a Python with PyTorch");
}

// The options that were given, as they were written.
std::vector<std::string> given(const CLI::App& command) {
  std::vector<std::string> arguments;
  for (const CLI::Option* option : command.parse_order()) {
    arguments.push_back(option->get_name());
    if (option->get_expected_max() > 0) arguments.push_back(option->results().back());
  }
  return arguments;
}

// Does not come back: the exit code is that of the benchmark.
int run(const CLI::App& command) {
  std::vector<std::string> arguments = {python(), benchmark().string()};
  for (std::string& argument : given(command)) arguments.push_back(std::move(argument));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  setenv("PRIMAL_PROGRAM", (tasks::program_folder() / "primal").c_str(), /*overwrite=*/1);
  std::fflush(nullptr);
  execvp(pointers[0], pointers.data());
  throw Error("could not start " + arguments[0] + ": " + std::strerror(errno));
}

}  // namespace

void add_bench(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("bench",
                                         "Measure our layer beside eager PyTorch, torch.compile and other attentions; "
                                         "about 15 minutes on two cores");
  command->add_option("--cases", "comma separated, of --list; default: all, with --quick all but epoch")
      ->type_name("CASE,CASE")
      ->expected(1);
  command->add_flag("--quick")->description("smaller sizes, 3 repeats, about a minute");
  command->add_option("--repeats", "of each measurement; default 7, quick 3")->type_name("N")->expected(1);
  command->add_option("--threads", "default: one per core")->type_name("N")->expected(1);
  command->add_option("--json", "results; written after every case")->type_name("FILE")->expected(1);
  command->add_option("--base", "compare with the --json of an earlier run")->type_name("FILE")->expected(1);
  command->add_option("--chart", ".html: a page that opens offline; .png: a picture")->type_name("FILE")->expected(1);
  command->add_flag("--list")->description("list the cases, and stop");
  command->callback([&chosen, command] { chosen = [command] { return run(*command); }; });
}

}  // namespace primal::cli
