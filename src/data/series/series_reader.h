// Time series from files: one case at a time, or a whole file as a TimeSeriesSet.
//
//   for (auto reader = open_series("-", {.labels_optional = true}); reader->next(series);) predict(series);
//   TimeSeriesSet train = read_series("JapaneseVowels_TRAIN.ts");
//
// A file that ends in .ts or .csv (any case) has that format. Of any other, and of standard input, the first line that
// is neither blank nor a comment decides: .ts if it begins with '@', else CSV. docs/data-formats.md describes both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/series/line_source.h"
#include "data/series/series.h"
#include "data/series/time_series.h"

namespace primal::data {

struct ReadOptions {
  /// Files to predict may lack the labels or targets that their header promises.
  bool labels_optional = false;
  /// Of a whole file: remainders of every channel, not only of those where floats lose too much.
  bool all_remainders = false;
};

/// What the head of a file says.
struct SeriesHeader {
  std::string name;                        ///< @problemName, else the file name without ending
  int64_t channels = 0;                    ///< 0 = a .ts file without @dimensions, until its first case
  std::vector<std::string> channel_names;  ///< of a CSV file
  std::vector<std::string> class_names;    ///< of a .ts file; a CSV file does not declare them
  bool has_labels = false, has_targets = false, has_times = false;
};

/// Keeps one case and a buffer in memory, whatever the size of the file. Every error is a primal::Error,
/// "FILE:LINE: what was expected, got VALUE".
class SeriesReader {
 public:
  SeriesReader() = default;
  virtual ~SeriesReader() = default;
  SeriesReader(const SeriesReader&) = delete;
  SeriesReader& operator=(const SeriesReader&) = delete;

  /// Reads the next case; false at the end. A file without any case is an error. Vectors of `into` are reused.
  virtual bool next(Series& into) = 0;

  const std::string& name() const { return header_.name; }
  int64_t channels() const { return header_.channels; }
  const std::vector<std::string>& channel_names() const { return header_.channel_names; }
  const std::vector<std::string>& class_names() const { return header_.class_names; }
  bool has_labels() const { return header_.has_labels; }
  bool has_targets() const { return header_.has_targets; }
  bool has_times() const { return header_.has_times; }

 protected:
  SeriesHeader header_;
};

/// Opens a file, or standard input for "-", and reads its head.
std::unique_ptr<SeriesReader> open_series(const std::filesystem::path& path_or_dash, const ReadOptions& options = {});

/// Either format from any lines, read from where they stand.
std::unique_ptr<SeriesReader> make_ts_reader(LineSource lines, const ReadOptions& options);
std::unique_ptr<SeriesReader> make_csv_reader(LineSource lines, const ReadOptions& options);

/// A whole file. With labels_optional either all cases or none may have a label.
TimeSeriesSet read_series(const std::filesystem::path& path_or_dash, const ReadOptions& options = {});
TimeSeriesSet read_all(SeriesReader& reader, const std::string& file_name, const ReadOptions& options = {});

}  // namespace primal::data
