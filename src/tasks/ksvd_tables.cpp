#include "tasks/ksvd_tables.h"

#include <ATen/ATen.h>
#include <primal/error.h>

#include <chrono>
#include <filesystem>

#include "base/text.h"
#include "tasks/config.h"
#include "tasks/ksvd_files.h"
#include "tasks/ksvd_model_file.h"
#include "tasks/read_table.h"
#include "train/compute_threads.h"

namespace primal::tasks {

namespace {

namespace fs = std::filesystem;
using analysis::KernelKind;
using analysis::Side;

// Seconds since it was made, or since the last call.
class Watch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int64_t set_up_threads(int64_t wanted) {
  RunOptions run;
  run.threads = wanted;
  const int64_t threads = threads_of(run);
  train::set_up_compute_threads(threads);
  return threads;
}

}  // namespace

KsvdResult decompose_tables(const KsvdRequest& request) {
  const int64_t threads = set_up_threads(request.threads);
  if (!request.output.empty() && fs::exists(request.output) && !fs::is_directory(request.output)) {
    throw Error("--output: expected a folder, got the file " + request.output);
  }
  const bool is_matrix = request.options.kernel.kind == KernelKind::matrix;
  KsvdResult result;
  Watch watch;
  const Table rows = read_table(is_matrix ? request.matrix : request.rows);
  const Table columns = request.columns.empty() ? Table() : read_table(request.columns);
  result.tables = request.columns.empty() ? rows.name : rows.name + " and " + columns.name;
  result.reading = watch.lap();
  result.svd = analysis::kernel_svd({.rows = rows.values, .columns = columns.values}, request.options);
  result.solving = watch.lap();
  if (request.output.empty()) return result;
  write_ksvd(result, rows.values, is_matrix ? rows.values.t() : columns.values,
             {.folder = request.output,
              .as_safetensors = request.as_safetensors,
              .in_double = request.options.in_double,
              .threads = threads,
              .inputs = {request.rows, request.columns, request.matrix}});
  result.writing = watch.lap();
  return result;
}

void features_of_new_rows(const KsvdNewRows& request, const std::function<void(std::string_view)>& taker) {
  const int64_t threads = set_up_threads(request.threads);
  const fs::path model =
      fs::is_directory(request.model) ? fs::path(request.model) / kKsvdModelFile : fs::path(request.model);
  const analysis::KernelSvd svd = load_ksvd(model);
  const bool is_left = !request.rows.empty();
  const analysis::FeatureMaker maker(svd, is_left ? Side::left : Side::right);
  const Table table = read_table(is_left ? request.rows : request.columns);
  if (table.values.size(1) != maker.inputs()) {
    base::fail(table.name, "expected rows of ", maker.inputs(), " numbers as in ", model.string(), ", got ",
               table.values.size(1));
  }
  if (request.output.empty()) {
    write_features(maker, table.values, {.threads = threads}, taker);
  } else {
    check_target(request.output, {request.rows, request.columns, model.string()});
    write_feature_file(request.output, maker, table.values, {.threads = threads});
  }
}

}  // namespace primal::tasks
