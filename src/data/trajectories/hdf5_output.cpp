#include "data/trajectories/hdf5_output.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace primal::data {

namespace {

constexpr int64_t kChunkBytes = int64_t{1} << 17;  // well within the library's cache of 1 MB
constexpr unsigned kGzipLevel = 4;                 // that of D4RL's files

Hdf5Handle hdf5_text_type(const std::string& text) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), text.size() + 1);  // with the zero at its end
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

Hdf5Handle hdf5_flag_type() {
  Hdf5Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  const int8_t no = 0, yes = 1;
  H5Tenum_insert(type.get(), "FALSE", &no);
  H5Tenum_insert(type.get(), "TRUE", &yes);
  return type;
}

Hdf5Handle hdf5_array_properties(std::span<const hsize_t> sizes, std::size_t type_size, Hdf5Output::Packing packing) {
  Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties.get(), false);  // else the same data would give other bytes a second later
  if (packing == Hdf5Output::Packing::kNone) return properties;
  std::array<hsize_t, 2> chunk = {1, sizes.size() == 2 ? sizes[1] : 1};
  const int64_t row_bytes = static_cast<int64_t>(chunk[1] * type_size);
  chunk[0] = std::min(sizes[0], static_cast<hsize_t>(std::max<int64_t>(kChunkBytes / row_bytes, 1)));
  H5Pset_chunk(properties.get(), static_cast<int>(sizes.size()), chunk.data());
  H5Pset_deflate(properties.get(), kGzipLevel);
  return properties;
}

}  // namespace

Hdf5Output::Hdf5Output(const std::filesystem::path& path) : path_(path), target_(path) {
  silence_hdf5();
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  constexpr std::size_t kGrowth = std::size_t{1} << 20;
  H5Pset_fapl_core(access.get(), kGrowth, false);
  file_ = Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  flag_type_ = hdf5_flag_type();
  require(file_.is_open(), "file");
}

void Hdf5Output::require(bool succeeded, const std::string& name) const {
  if (!succeeded) base::fail(path_.string(), name, ": cannot be made: ", hdf5_reason());
}

void Hdf5Output::add_group(const std::string& group) {
  const Hdf5Handle made(H5Gcreate2(file_.get(), group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  require(made.is_open(), group);
}

void Hdf5Output::add_array(const std::string& name, hid_t type, std::size_t type_size, int64_t rows, int64_t columns,
                           const void* values, Packing packing) {
  const std::array<hsize_t, 2> both = {static_cast<hsize_t>(rows), static_cast<hsize_t>(columns)};
  const std::span sizes = std::span(both).first(columns > 0 ? 2 : 1);
  const Hdf5Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
  const Hdf5Handle properties = hdf5_array_properties(sizes, type_size, packing);
  const Hdf5Handle array(
      H5Dcreate2(file_.get(), name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Dclose);
  require(array.is_open(), name);
  require(H5Dwrite(array.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, name);
}

void Hdf5Output::add_floats(const std::string& name, std::span<const float> values, int64_t columns, Packing packing) {
  const int64_t rows = std::ssize(values) / std::max<int64_t>(columns, 1);
  add_array(name, H5T_IEEE_F32LE, sizeof(float), rows, columns, values.data(), packing);
}

void Hdf5Output::add_flags(const std::string& name, std::span<const int8_t> flags, Packing packing) {
  add_array(name, flag_type_.get(), sizeof(int8_t), std::ssize(flags), 0, flags.data(), packing);
}

void Hdf5Output::add_text(const std::string& name, const std::string& text) {
  const Hdf5Handle type = hdf5_text_type(text), space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle properties = hdf5_array_properties({}, 1, Packing::kNone);
  const Hdf5Handle array(
      H5Dcreate2(file_.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose);
  require(array.is_open(), name);
  require(H5Dwrite(array.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.c_str()) >= 0, name);
}

void Hdf5Output::add_attribute(const std::string& group, const std::string& name, hid_t type, const void* value) {
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle attribute(H5Acreate_by_name(file_.get(), group.c_str(), name.c_str(), type, space.get(), H5P_DEFAULT,
                                               H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
  require(attribute.is_open() && H5Awrite(attribute.get(), type, value) >= 0, name);
}

void Hdf5Output::add_attribute(const std::string& group, const std::string& name, const std::string& text) {
  if (text.size() > kMostAttributeBytes) {
    base::fail(path_.string(), name, ": has ", text.size(), " bytes, HDF5 takes at most ", kMostAttributeBytes,
               " here");
  }
  add_attribute(group, name, hdf5_text_type(text).get(), text.c_str());
}

void Hdf5Output::add_attribute(const std::string& group, const std::string& name, int64_t number) {
  add_attribute(group, name, H5T_NATIVE_INT64, &number);
}

void Hdf5Output::commit() {
  require(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) >= 0, "file");
  // The library's memory itself: its copy of it, H5Fget_file_image() with a buffer, would take as much again.
  const ssize_t size = H5Fget_file_image(file_.get(), nullptr, 0);
  void** bytes = nullptr;
  require(size > 0 && H5Fget_vfd_handle(file_.get(), H5P_DEFAULT, reinterpret_cast<void**>(&bytes)) >= 0, "file");
  target_.write(*bytes, static_cast<std::size_t>(size));
  target_.commit();
}

}  // namespace primal::data
