// Time to read a whole .ts or CSV file into memory: best of five. bench/read_ts.py compares it with aeon.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "data/series/series_reader.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_read_ts FILE\n");
    return 2;
  }
  try {
    constexpr int kRuns = 5;
    double best = 1e30;
    int64_t cases = 0;
    for (int run = 0; run < kRuns; ++run) {
      const auto start = std::chrono::steady_clock::now();
      cases = primal::data::read_series(argv[1]).cases();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    const double megabytes = static_cast<double>(std::filesystem::file_size(argv[1])) / 1e6;
    std::printf("{\"seconds\": %.6f, \"megabytes_per_second\": %.1f, \"cases\": %lld}\n", best, megabytes / best,
                static_cast<long long>(cases));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_read_ts: %s\n", error.what());
    return 2;
  }
  return 0;
}
