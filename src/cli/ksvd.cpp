// primal ksvd: kernel SVD of the user's own tables.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/format.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "primal/error.h"
#include "tasks/ksvd_tables.h"

namespace primal::cli {

namespace {

using analysis::KernelKind;

struct Options {
  tasks::KsvdRequest request;
  std::string kernel = "cosine", form = "auto", format = "csv", model;
  double share = 0;
  bool json = false;
};

// Options that say something of the kernel that is asked for; of another one they would go unheard.
void check_kernel_options(const CLI::App& command, const std::string& kernel) {
  const auto belongs_to = [&](const char* option, std::initializer_list<std::string> kernels) {
    if (command.count(option) == 0 || std::find(kernels.begin(), kernels.end(), kernel) != kernels.end()) return;
    std::string all;
    for (const std::string& one : kernels) all += (all.empty() ? "" : ", ") + one;
    throw Error(std::string(option) + ": expected a kernel that has it (" + all + "), got " + kernel);
  };
  belongs_to("--width", {"rbf", "sne", "poly"});
  belongs_to("--degree", {"poly"});
  belongs_to("--offset", {"poly"});
}

// Takes in what the parser cannot: options that belong to each other.
void resolve(const CLI::App& command, Options& options) {
  tasks::KsvdRequest& request = options.request;
  if (request.matrix.empty() == request.rows.empty()) throw Error("expected --rows FILE, or --matrix FILE; try --help");
  if (!request.matrix.empty()) {
    for (const char* option : {"--cols", "--kernel", "--standardise"}) {
      if (command.count(option) > 0)
        throw Error(std::string("--matrix has the kernel values already; leave out ") + option);
    }
    options.kernel = "matrix";
  }
  check_kernel_options(command, options.kernel);
  analysis::KernelSvdOptions& svd = request.options;
  if (command.count("--width") > 0 && !(svd.kernel.width > 0)) {
    throw Error("--width: expected a number above 0, got " + base::format_digits(svd.kernel.width, 6));
  }
  svd.kernel.kind = base::named(analysis::kKernelNames, "--kernel", options.kernel);
  if (command.count("--nystrom") > 0) svd.share = options.share;
  if (svd.orthogonal && !svd.share) throw Error("--orthogonal mends what a sample leaves; it needs --nystrom");
  if (options.form != "auto") svd.form = options.form == "primal" ? analysis::Form::primal : analysis::Form::dual;
  request.as_safetensors = options.format == "safetensors";
}

int decompose(const CLI::App& command, Options& options) {
  resolve(command, options);
  const tasks::KsvdResult result = tasks::decompose_tables(options.request);
  options.json ? print_json(to_json(result)) : print_text(to_text(result));
  return 0;
}

int apply(const CLI::App& command, const Options& options) {
  for (const CLI::Option* option : command.parse_order()) {
    const std::string& name = option->get_name();
    if (name == "--apply" || name == "--rows" || name == "--cols" || name == "--output" || name == "--threads")
      continue;
    throw Error("--apply takes the kernel and all else from the model; leave out " + name);
  }
  const tasks::KsvdRequest& request = options.request;
  if (request.rows.empty() == request.columns.empty())
    throw Error("--apply: expected either --rows FILE or --cols FILE");
  const std::string output = request.output == "-" ? "" : request.output;
  tasks::features_of_new_rows({.model = options.model,
                               .rows = request.rows,
                               .columns = request.columns,
                               .output = output,
                               .threads = request.threads},
                              [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });
  return 0;
}

void add_kernel_options(CLI::App& command, Options& options) {
  analysis::KernelSvdOptions& svd = options.request.options;
  command.add_option("--kernel", options.kernel)
      ->check(CLI::IsMember({"linear", "cosine", "rbf", "sne", "poly"}))
      ->capture_default_str();
  command.add_option("--width", svd.kernel.width,
                     "rbf, sne: exp(-|x - z|^2 / width^2), default the median distance; poly: (x.z / width^2 + "
                     "offset)^degree, default 1");
  command.add_option("--degree", svd.kernel.degree, "of poly")->check(at_least(1))->capture_default_str();
  command.add_option("--offset", svd.kernel.offset, "of poly")->capture_default_str();
  command.add_flag("--standardise", svd.standardise, "columns of both tables, by mean and deviation of --rows");
}

}  // namespace

void add_ksvd(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("ksvd", "Kernel SVD of one table, of two, or of a matrix: features of their rows");
  command->footer(
      "Examples:\n"
      "  primal ksvd --rows a.csv --cols b.csv --kernel cosine --rank 16 --output features\n"
      "  primal ksvd --rows a.csv --kernel rbf --standardise --nystrom 0.1 --json\n"
      "  primal ksvd --matrix links.csv --rank 4 --output communities\n"
      "  primal ksvd --apply features --rows new.csv --output new_features.csv");
  auto options = std::make_shared<Options>();
  tasks::KsvdRequest& request = options->request;
  command->add_option("--rows", request.rows, "numbers, a row per object: CSV, or FILE.safetensors[:TENSOR]")
      ->type_name("FILE");
  command->add_option("--cols", request.columns, "a second table, whose rows are the columns of the kernel matrix")
      ->type_name("FILE");
  command->add_option("--matrix", request.matrix, "kernel values of your own instead, square or not")
      ->type_name("FILE");
  add_kernel_options(*command, *options);
  command
      ->add_option("--rank", request.options.rank, "singular values and features; default 10, or as many as there are")
      ->check(at_least(1));
  command
      ->add_option("--form", options->form,
                   "primal: by the features of the kernel; dual: by its values; auto: the cheaper")
      ->check(CLI::IsMember({"auto", "primal", "dual"}))
      ->capture_default_str();
  command->add_option("--nystrom", options->share, "decompose this share of the rows and columns, and extend to all")
      ->type_name("SHARE");
  command->add_flag("--orthogonal", request.options.orthogonal,
                    "with --nystrom: singular vectors orthogonal among all rows");
  command->add_option("--seed", request.options.seed, "of the sample")->capture_default_str();
  command->add_flag("--double", request.options.in_double, "compute in float64 where a table is float32");
  command->add_option("--output", request.output,
                      "folder for features, singular values, model and report.html; with --apply a file, .csv or "
                      ".safetensors, default standard output");
  command->add_option("--format", options->format, "of the features")
      ->check(CLI::IsMember({"csv", "safetensors"}))
      ->capture_default_str();
  command
      ->add_option("--apply", options->model, "features of new --rows, or --cols, by the model of an earlier --output")
      ->type_name("MODEL");
  command->add_option("--threads", request.threads, "default: one per core")->check(at_least(0));
  command->add_flag("--json", options->json, "the table as JSON");
  command->callback([&chosen, options, command] {
    chosen = [options, command] {
      return options->model.empty() ? decompose(*command, *options) : apply(*command, *options);
    };
  });
}

}  // namespace primal::cli
