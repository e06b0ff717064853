#include "data/trajectories/hdf5_file.h"

#include <cstring>

namespace primal::data {

namespace fs = std::filesystem;

Hdf5File::Hdf5File(const fs::path& path) : name_(path.string()) {
  silence_hdf5();
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail("cannot open: ", error ? error.message() : "No such file or directory");
  if (fs::is_directory(status)) fail("is a directory, expected an HDF5 file");
  if (!fs::is_regular_file(status)) fail("is not a regular file");
  size_ = fs::file_size(path, error);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Reading needs no lock, and some network drives know none.
  H5Pset_file_locking(access.get(), false, true);
  file_ = Hdf5Handle(H5Fopen(name_.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (file_.is_open()) return;
  const std::string reason = hdf5_reason();
  const htri_t is_hdf5 = H5Fis_hdf5(name_.c_str());
  if (is_hdf5 == 0) fail("is not an HDF5 file");
  fail("cannot open, perhaps it is cut off: ", reason);
}

Hdf5File::Hdf5File(std::span<const std::byte> image, std::string_view name) : name_(name), size_(image.size()) {
  silence_hdf5();
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  constexpr std::size_t kGrowth = 4096;
  H5Pset_fapl_core(access.get(), kGrowth, false);
  std::byte* const bytes = const_cast<std::byte*>(image.data());  // the library copies them
  if (image.empty() || H5Pset_file_image(access.get(), bytes, image.size()) < 0) fail("is not an HDF5 file");
  file_ = Hdf5Handle(H5Fopen(name_.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file_.is_open()) fail("cannot open, perhaps it is cut off: ", hdf5_reason());
}

Hdf5File::Kind Hdf5File::kind_of(const std::string& path) const {
  // The library asks to look at each part of a path on its own. A link to another place may lead to another file.
  for (std::size_t end = 0; end != path.npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (H5Lexists(id(), part.c_str(), H5P_DEFAULT) <= 0) return Kind::kNothing;
    H5L_info_t info{};
    if (H5Lget_info(id(), part.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD) return Kind::kOther;
  }
  const Hdf5Handle object(H5Oopen(id(), path.c_str(), H5P_DEFAULT), H5Oclose);
  const H5I_type_t type = object.is_open() ? H5Iget_type(object.get()) : H5I_BADID;
  return type == H5I_GROUP ? Kind::kGroup : type == H5I_DATASET ? Kind::kArray : Kind::kOther;
}

std::vector<std::string> Hdf5File::names() const {
  std::vector<std::string> result;
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* into) -> herr_t {
    static_cast<std::vector<std::string>*>(into)->emplace_back(name);
    return 0;
  };
  if (H5Literate(id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &result) < 0) {
    fail("its table of contents cannot be read: ", hdf5_reason());
  }
  return result;
}

/// `read` is the library's function for it, with the type in memory and where to write.
std::string Hdf5File::text_in(const std::string& what, hid_t type, hid_t space, const auto& read) const {
  if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_type(space) != H5S_SCALAR) {
    fail(what, ": expected one text");
  }
  const Hdf5Handle memory_type(H5Tcopy(type), H5Tclose);
  if (H5Tis_variable_str(type) > 0) {  // the library allocates it
    char* text = nullptr;
    if (read(memory_type.get(), &text) < 0) fail(what, ": cannot be read: ", hdf5_reason());
    std::string result = text != nullptr ? text : "";
    H5free_memory(text);
    return result;
  }
  const std::size_t size = H5Tget_size(type);
  if (size > size_) fail(what, ": claims to have ", size, " bytes, the file has ", size_);
  std::string result(size, '\0');
  if (read(memory_type.get(), result.data()) < 0) fail(what, ": cannot be read: ", hdf5_reason());
  return result.c_str();  // up to the zero that ends it
}

std::optional<std::string> Hdf5File::text_if_any(const std::string& path) const {
  if (kind_of(path) != Kind::kArray) return std::nullopt;
  const Hdf5Handle array(H5Dopen2(id(), path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type(H5Dget_type(array.get()), H5Tclose), space(H5Dget_space(array.get()), H5Sclose);
  return text_in(path, type.get(), space.get(), [&](hid_t memory_type, void* into) {
    return H5Dread(array.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, into);
  });
}

std::optional<std::string> Hdf5File::attribute_if_any(const std::string& attribute) const {
  if (H5Aexists(id(), attribute.c_str()) <= 0) return std::nullopt;
  const Hdf5Handle value(H5Aopen(id(), attribute.c_str(), H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(H5Aget_type(value.get()), H5Tclose), space(H5Aget_space(value.get()), H5Sclose);
  return text_in("attribute " + attribute, type.get(), space.get(),
                 [&](hid_t memory_type, void* into) { return H5Aread(value.get(), memory_type, into); });
}

void Hdf5File::claim(const std::string& path, uint64_t bytes) {
  if (bytes > size_ - claimed_) {
    fail(path, ": claims to have ", bytes, " bytes, the file has ", size_,
         claimed_ > 0 ? " with other data in it" : "");
  }
  claimed_ += bytes;
}

}  // namespace primal::data
