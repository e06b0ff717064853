// Time of `primal ksvd` on a table of random numbers in memory, beside the bare matrix products that it cannot do
// without: best of five. Arguments: rows, columns, rank, threads.
#include <ATen/ATen.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>

#include "analysis/kernel_svd.h"
#include "base/allocator.h"
#include "base/peak_memory.h"
#include "measure.h"
#include "train/compute_threads.h"

namespace {

using namespace primal;

struct Size {
  int64_t rows = 1'000'000, columns = 64, rank = 32, threads = 2;
};

double best_of_five(const std::function<void()>& work) {
  double best = bench::seconds_of(work);
  for (int i = 1; i < 5; ++i) best = std::min(best, bench::seconds_of(work));
  return best;
}

// X^T X, and X times a matrix of the size of the weights: at once or in blocks, whichever is faster here.
double bare_products(const at::Tensor& x, const Size& size) {
  const at::Tensor weights = at::randn({size.columns, size.rank}, x.options());
  const int64_t block = analysis::rows_per_block(size.columns);
  const double at_once = best_of_five([&] {
    at::mm(x.t(), x);
    at::mm(x, weights);
  });
  const double in_blocks = best_of_five([&] {
    analysis::sum_blocks(size.rows, block, size.columns * size.columns, [&](int64_t first, int64_t count) {
      const at::Tensor rows = x.narrow(0, first, count);
      return at::mm(rows.t(), rows);
    });
    analysis::for_blocks(size.rows, block,
                         [&](int64_t first, int64_t count) { at::mm(x.narrow(0, first, count), weights); });
  });
  return std::min(at_once, in_blocks);
}

void measure(const Size& size) {
  base::keep_freed_memory();
  train::set_up_compute_threads(size.threads);
  const at::Tensor x = at::rand({size.rows, size.columns}).sub_(0.3);
  const double bare = bare_products(x, size);
  base::reset_peak_memory();
  const double before = static_cast<double>(base::peak_memory());
  analysis::KernelSvdOptions options;
  options.rank = size.rank;
  double solving = 1e30, features = 1e30;
  for (int i = 0; i < 5; ++i) {
    analysis::KernelSvd svd;
    solving =
        std::min(solving, bench::seconds_of([&] { svd = analysis::kernel_svd({.rows = x, .columns = {}}, options); }));
    const analysis::FeatureMaker maker(svd, analysis::Side::left);
    features = std::min(features, bench::seconds_of([&] { maker.give(x, false, [](const at::Tensor&) {}); }));
  }
  const double megabytes = (static_cast<double>(base::peak_memory()) - before) / 1e6;
  std::printf(
      "{\"bare_products\": %.4f, \"solving\": %.4f, \"features\": %.4f, \"ratio\": %.2f, \"megabytes\": %.1f}\n", bare,
      solving, features, (solving + features) / bare, megabytes);
}

}  // namespace

int main(int argc, char** argv) {
  Size size;
  int64_t* const fields[] = {&size.rows, &size.columns, &size.rank, &size.threads};
  for (int i = 1; i < std::min(argc, 5); ++i) *fields[i - 1] = std::atoll(argv[i]);
  try {
    measure(size);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_ksvd: %s\n", error.what());
    return 2;
  }
  return 0;
}
