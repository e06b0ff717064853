// Reading of HDF5 files from anywhere: what is in them, texts, and arrays (hdf5_array.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "data/trajectories/hdf5_handle.h"

namespace primal::data {

/// Every failure throws primal::Error, "<file>: ..." or "<file>: <path in the file>: ...". Links to other places and
/// other files are not followed.
class Hdf5File {
 public:
  explicit Hdf5File(const std::filesystem::path& path);
  /// A file in memory; `name` is for messages.
  Hdf5File(std::span<const std::byte> image, std::string_view name);

  enum class Kind { kNothing, kGroup, kArray, kOther };
  Kind kind_of(const std::string& path) const;

  /// The names at the top of the file, in the order of bytes.
  std::vector<std::string> names() const;

  /// A text alone, not an array of texts; nothing if there is no such data set or attribute of the file.
  std::optional<std::string> text_if_any(const std::string& path) const;
  std::optional<std::string> attribute_if_any(const std::string& attribute) const;

  /// For `bytes` that a data set claims to have in the file. The claims of all data sets that are read must fit into
  /// it, so that a small file cannot have many that lie on top of each other and fill the memory.
  void claim(const std::string& path, uint64_t bytes);

  hid_t id() const { return file_.get(); }

  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    base::fail(name_, parts...);
  }

 private:
  std::string text_in(const std::string& what, hid_t type, hid_t space, const auto& read) const;

  std::string name_;
  uint64_t size_ = 0, claimed_ = 0;
  Hdf5Handle file_;
};

}  // namespace primal::data
