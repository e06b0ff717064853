// primal data make: sets that the program makes itself.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/progress.h"
#include "base/text.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "tasks/family.h"
#include "tasks/locations.h"

namespace primal::cli {

namespace {

constexpr int kInterrupted = 130;

struct Options {
  tasks::MakeRequest request;
  std::string output, data;
  int64_t threads = 0;
};

int make(const tasks::DataMaker& maker, Options& options) {
  tasks::MakeRequest& request = options.request;
  request.folder = options.output.empty() ? tasks::default_folder(maker) : std::filesystem::path(options.output);
  tasks::RunOptions run;
  run.threads = options.threads;
  request.threads = tasks::threads_of(run);
  request.search = tasks::data_search_path(options.data);
  base::Progress progress(base::progress_options());
  if (!tasks::make_data(maker, request, progress)) {
    std::fprintf(stderr, "interrupted; nothing was made\n");
    return kInterrupted;
  }
  print_text(std::string(maker.name) + " in " + request.folder.string() + "\n");
  return 0;
}

void add_flag(CLI::App& command, const tasks::MakeFlag& flag, std::map<std::string, std::string>& options) {
  const std::string name = "--" + flag.name;
  const auto take = [&options, key = flag.name](const std::string& value) { options[key] = value; };
  if (!flag.value.empty()) {
    command.add_option_function<std::string>(name, take, flag.help)->type_name(flag.value);
    return;
  }
  if (flag.values.empty()) {
    command.add_flag_callback(
        name, [&options, key = flag.name] { options[key] = "on"; }, flag.help);
    return;
  }
  command.add_option_function<std::string>(name, take, flag.help + "; default " + flag.values.front())
      ->check(CLI::IsMember(flag.values));
}

}  // namespace

void add_data_make(CLI::App& data, Command& chosen) {
  CLI::App* command = data.add_subcommand("make", "make a set; language/enwik8 is downloaded, no other");
  command->require_subcommand(1);
  command->footer("Example:\n  primal data make lra/listops --seed 1 --output data/lra/listops");
  for (const tasks::Family& family : tasks::families()) {
    for (const tasks::DataMaker& maker : family.makers) {
      CLI::App* one = command->add_subcommand(std::string(maker.name), std::string(maker.help));
      auto options = std::make_shared<Options>();
      one->add_option("--seed", options->request.seed, "another gives other data; default 1")->check(at_least(0));
      one->add_option("--output", options->output, "folder; default " + tasks::default_folder(maker).string());
      one->add_option("--threads", options->threads, "default: one per core; the files do not depend on it")
          ->check(at_least(0));
      one->add_option("--data", options->data, "folder to look first for what the set is made from");
      for (const tasks::MakeFlag& flag : maker.flags) add_flag(*one, flag, options->request.options);
      one->callback([&chosen, &maker, options] { chosen = [&maker, options] { return make(maker, *options); }; });
    }
  }
}

}  // namespace primal::cli
