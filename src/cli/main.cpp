// primal: the command-line program.
#include <c10/util/Exception.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "kernels/cpu_target.h"
#include "train/allocator.h"
#include "train/failure.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// One line that begins with the command it belongs to.
int complain(const CLI::App& app, const std::string& message) {
  const auto used = app.get_subcommands();
  std::fprintf(stderr, "primal%s%s: %s\n", used.empty() ? "" : " ", used.empty() ? "" : used[0]->get_name().c_str(),
               message.c_str());
  return kWrongUsage;
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
  primal::cli::add_report(app, chosen);
  primal::cli::add_sweep(app, chosen);
  primal::cli::add_data(app, chosen);
  primal::cli::add_bench(app, chosen);
  primal::cli::add_info(app, chosen);
  primal::cli::add_verify(app, chosen);
  try {
    primal::train::keep_freed_memory();
    app.parse(argc, argv);
    primal::kernels::use_cpu_target_of_environment();
    return chosen();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return complain(app, std::string(error.what()) + "; try --help");
  } catch (const primal::train::Failure& failure) {
    complain(app, failure.what());
    return kFailed;
  } catch (const c10::Error& error) {  // of LibTorch: what() would add a stack trace
    const std::string message = error.what_without_backtrace();
    complain(app, message.substr(0, message.find('\n')));
    return kFailed;
  } catch (const std::exception& error) {
    return complain(app, error.what());
  }
}
