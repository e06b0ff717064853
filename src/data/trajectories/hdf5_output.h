// An HDF5 file that appears complete or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/atomic_file.h"
#include "data/trajectories/hdf5_handle.h"

namespace primal::data {

/// It is made in memory, where its bytes come to less than those of the values, and written by commit(): the library
/// does not get on well with disks that are full. The same calls give the same bytes: nothing in it tells the time.
/// Throws primal::Error, "<path>: ...".
class Hdf5Output {
 public:
  explicit Hdf5Output(const std::filesystem::path& path);

  enum class Packing { kNone, kGzip };

  void add_group(const std::string& group);
  /// [rows, columns], or [rows] with columns = 0.
  void add_floats(const std::string& name, std::span<const float> values, int64_t columns, Packing packing);
  /// [rows] of the type that h5py writes and reads as numpy's bool.
  void add_flags(const std::string& name, std::span<const int8_t> flags, Packing packing);
  void add_text(const std::string& name, const std::string& text);
  /// Of a group, "/" for the file. A text has at most kMostAttributeBytes.
  void add_attribute(const std::string& group, const std::string& name, const std::string& text);
  void add_attribute(const std::string& group, const std::string& name, int64_t number);

  static constexpr std::size_t kMostAttributeBytes = 60'000;  // HDF5 allows 64 kB with all that belongs to it

  void commit();

 private:
  void add_array(const std::string& name, hid_t type, std::size_t type_size, int64_t rows, int64_t columns,
                 const void* values, Packing packing);
  void add_attribute(const std::string& group, const std::string& name, hid_t type, const void* value);
  void require(bool succeeded, const std::string& name) const;

  std::filesystem::path path_;
  base::AtomicFile target_;  // first: whether it can be written is known before the work
  Hdf5Handle file_, flag_type_;
};

}  // namespace primal::data
