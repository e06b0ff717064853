// An array of numbers in an HDF5 file, read as 32-bit floats or as flags whatever it is stored as.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/trajectories/hdf5_file.h"

namespace primal::data {

class Hdf5Array {
 public:
  enum class Shape {
    kMatrix,  ///< [rows, columns]
    kColumn,  ///< [rows] or [rows, 1]
  };

  /// Looks at it and reads nothing: kind of numbers, dimensions, and whether the file can have as many as it says.
  /// Throws primal::Error that names file and data set; so do the functions below. The file must stay open.
  Hdf5Array(Hdf5File& file, std::string path, Shape shape);

  const std::string& path() const { return path_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  /// Appends the rows before `end`. NaN, infinite numbers and what is too large for a float are refused.
  void read_floats(std::vector<float>& values, int64_t end) const;

  /// One 0 or 1 per row, from any kind of number.
  std::vector<uint8_t> read_flags() const;

 private:
  void take_shape(Shape shape);
  void check_type() const;
  void check_storage();
  uint64_t expansion(hid_t creation) const;
  void check_chunks(hid_t creation, uint64_t most_bytes);
  int64_t rows_per_block() const;
  void read_block(int64_t begin, int64_t end, hid_t memory_type, void* into) const;

  Hdf5File& file_;
  std::string path_;
  Hdf5Handle array_, type_, space_;
  int64_t rows_ = 0, columns_ = 1;
  int64_t chunk_rows_ = 1;
  int rank_ = 0;
};

}  // namespace primal::data
