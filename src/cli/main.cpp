// primal: the command-line program.
#include <c10/util/Exception.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/allocator.h"
#include "base/exception.h"
#include "base/failure.h"
#include "base/format.h"
#include "base/nearest.h"
#include "base/waiting_threads.h"
#include "base/write_failure.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "kernels/cpu_target.h"
#include "ops/recycled_memory.h"
#include "primal/error.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kInterrupted = 130;

// One line that begins with the command it belongs to.
int complain(const CLI::App& app, const std::string& message) {
  const auto used = app.get_subcommands();
  std::fprintf(stderr, "primal%s%s: %s\n", used.empty() ? "" : " ", used.empty() ? "" : used[0]->get_name().c_str(),
               primal::base::printable(message).c_str());
  return kWrongUsage;
}

using Words = std::span<const std::string>;

// The words after options with a value that stand before a command: `--data DIR list`. None if CLI11 has more to say of
// an option than we of the command.
Words after_options(const CLI::App& app, Words words) {
  while (!words.empty() && words.front().starts_with('-')) {
    const size_t equals = words.front().find('=');
    const CLI::Option* option = app.get_option_no_throw(words.front().substr(0, equals));
    if (option == nullptr || option->get_items_expected_max() == 0) return {};
    words = words.subspan(std::min<size_t>(equals == std::string::npos ? 2 : 1, words.size()));
  }
  return words;
}

// A word that is no command. CLI11 would only say that a command is missing.
void check_command(const CLI::App& app, Words words) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (names.empty()) return;  // what follows a command are its arguments
  words = after_options(app, words);
  if (words.empty()) return;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == words.front()) return check_command(*command, words.subspan(1));
  }
  const auto meant = primal::base::nearest(words.front(), names);
  throw primal::Error("there is no command " + words.front() + (meant ? "; did you mean " + *meant + "?" : "") +
                      " (--help lists all)");
}

// Whether the command computes for so long that it pays to start the program anew.
bool is_long(const CLI::App& app) {
  const std::string name = app.get_subcommands()[0]->get_name();
  return name == "train" || name == "sweep" || name == "convert" || name == "ablate" || name == "ksvd";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Primal-Attention: attention that is linear in the sequence length.", "primal");
  app.require_subcommand(1);
  app.set_version_flag("--version", "primal " PRIMAL_VERSION);
  primal::cli::Command chosen;
  primal::cli::add_train(app, chosen);
  primal::cli::add_eval(app, chosen);
  primal::cli::add_predict(app, chosen);
  primal::cli::add_analyze(app, chosen);
  primal::cli::add_report(app, chosen);
  primal::cli::add_sweep(app, chosen);
  primal::cli::add_convert(app, chosen);
  primal::cli::add_ablate(app, chosen);
  primal::cli::add_data(app, chosen);
  primal::cli::add_bench(app, chosen);
  primal::cli::add_generate(app, chosen);
  primal::cli::add_play(app, chosen);
  primal::cli::add_ksvd(app, chosen);
  primal::cli::add_info(app, chosen);
  primal::cli::add_verify(app, chosen);
  try {
    primal::base::keep_freed_memory();
    primal::ops::recycle_memory_of_all_tensors();
    check_command(app, std::vector<std::string>(argv + 1, argv + argc));
    app.parse(argc, argv);
    primal::kernels::use_cpu_target_of_environment();
    if (is_long(app)) primal::base::limit_spinning(argv);
    const int exit_code = chosen();
    primal::cli::flush_output();
    return exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return complain(app, std::string(error.what()) + "; try --help");
  } catch (const primal::base::Interrupted& interrupted) {
    complain(app, interrupted.what());
    return kInterrupted;
  } catch (const primal::base::Failure& failure) {
    complain(app, failure.what());
    return kFailed;
  } catch (const c10::Error& error) {  // of LibTorch
    complain(app, primal::base::in_one_line(error));
    return kFailed;
  } catch (const primal::base::WriteFailure& failure) {
    complain(app, failure.what());
    return kFailed;
  } catch (const std::filesystem::filesystem_error& error) {
    complain(app, error.path1().string() + ": " + error.code().message());
    return primal::base::is_wrong_name(error.code()) ? kWrongUsage : kFailed;
  } catch (const std::exception& error) {
    complain(app, primal::base::in_one_line(error));
    return primal::base::is_out_of_memory(error) ? kFailed : kWrongUsage;
  }
}
