// Features of rows as bytes of a file, made as the features come: CSV, or one tensor "features" in safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace primal::data {

struct FeatureWriterOptions {
  int64_t rows = 0, columns = 0;
  bool is_double = false;       ///< of safetensors
  bool is_safetensors = false;  ///< else CSV with a header feature_1,...
  int64_t threads = 1;          ///< that turn numbers into text
};

class FeatureWriter {
 public:
  using Taker = std::function<void(std::string_view bytes)>;

  /// The taker gets the header at once.
  FeatureWriter(const FeatureWriterOptions& options, Taker taker);
  /// Whole rows, one after another. Of safetensors in the dtype that was announced.
  void write(std::span<const float> rows) { write_rows(rows); }
  void write(std::span<const double> rows) { write_rows(rows); }

 private:
  template <typename T>
  void write_rows(std::span<const T> rows);

  FeatureWriterOptions options_;
  Taker taker_;
};

/// Rows of numbers as lines of CSV: the fewest digits that give the same number when they are read.
template <typename T>
std::string csv_lines(std::span<const T> values, int64_t columns);

}  // namespace primal::data
