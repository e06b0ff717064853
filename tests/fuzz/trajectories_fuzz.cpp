// Sound HDF5 files with anything in them, as logged episodes: either a one-line primal::Error, or trajectories whose
// parts fit together. The bytes of the fuzzer say which data sets a file has, of which shapes, types and values. They
// are not the file itself: libhdf5 1.10.8 reads past its memory in damaged tables of contents, as the fuzzer finds in
// under a minute, and that is not ours to mend.
#include <hdf5.h>
#include <primal/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "data/trajectories/check_trajectories.h"
#include "data/trajectories/hdf5_handle.h"
#include "data/trajectories/trajectories.h"

namespace {

using primal::data::Hdf5Handle;
using primal::data::Trajectories;

void require(bool condition, const char* promise) {  // assert() is off in a release build
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// Numbers from the fuzzer's bytes; zeros after their end.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool any() const { return left_ > 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::uint8_t below(int bound) { return static_cast<std::uint8_t>(byte() % bound); }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

/// A file in memory, from choices.
class FileMaker {
 public:
  explicit FileMaker(Choices& choices) : choices_(choices) {
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_core(access.get(), 4096, false);
    file_ = Hdf5Handle(H5Fcreate("fuzz", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
    flag_ = Hdf5Handle(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
    const std::int8_t no = 0, yes = 1;
    H5Tenum_insert(flag_.get(), "FALSE", &no);
    H5Tenum_insert(flag_.get(), "TRUE", &yes);
    text_ = Hdf5Handle(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(text_.get(), 9);
  }

  std::vector<std::byte> make() {
    rows_ = choices_.below(7);
    states_ = 1 + choices_.below(3);
    actions_ = 1 + choices_.below(2);
    if (choices_.below(2) == 0) {
      add_steps("", rows_, "terminals", "timeouts");
    } else {
      for (int count = choices_.below(4); count > 0; --count) {
        const std::string name = "episode_" + std::string(choices_.below(2), '1') + std::to_string(choices_.below(12));
        const Hdf5Handle made(H5Gcreate2(id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
        if (made.is_open()) add_steps(name + "/", rows_ + 1, "terminations", "truncations");
      }
    }
    add_made();
    H5Fflush(id(), H5F_SCOPE_GLOBAL);
    const ssize_t size = H5Fget_file_image(id(), nullptr, 0);
    std::vector<std::byte> image(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    H5Fget_file_image(id(), image.data(), image.size());
    return image;
  }

 private:
  hid_t id() const { return file_.get(); }

  void add_steps(const std::string& before, hsize_t observations, const char* ends, const char* stops) {
    add(before + "observations", {observations, states_}, false);
    add(before + "actions", {rows_, actions_}, false);
    add(before + "rewards", {rows_}, false);
    add(before + ends, {rows_}, true);
    add(before + stops, {rows_}, true);
  }

  /// Mostly as it should be.
  void add(const std::string& name, std::vector<hsize_t> sizes, bool is_flag) {
    switch (choices_.below(32)) {
      case 1:
        return;
      case 2:
        Hdf5Handle(H5Gcreate2(id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
        return;
      case 3:
        H5Lcreate_soft("/observations", id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
        return;
      case 4:
        H5Lcreate_external("/dev/zero", "/observations", id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
        return;
      case 5:
        H5Lcreate_hard(id(), "observations", id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
        return;
      case 6:
        sizes.push_back(1 + choices_.below(3));
        break;
      case 7:
        sizes[choices_.below(static_cast<int>(sizes.size()))] = choices_.below(9);
        break;
      case 8:
        sizes[0] = hsize_t{1} << (choices_.below(40) + 8);
        break;
      case 9:
        sizes.pop_back();
        break;
      default:
        break;
    }
    add_array(name, sizes, is_flag);
  }

  hid_t any_type(bool is_flag) {
    const std::array<hid_t, 16> types = {is_flag ? flag_.get() : H5T_IEEE_F32LE,
                                         is_flag ? H5T_STD_I8LE : H5T_IEEE_F64LE,
                                         H5T_IEEE_F32BE,
                                         H5T_IEEE_F64BE,
                                         H5T_STD_I8LE,
                                         H5T_STD_U8LE,
                                         H5T_STD_I16BE,
                                         H5T_STD_U16LE,
                                         H5T_STD_I32LE,
                                         H5T_STD_U32BE,
                                         H5T_STD_I64LE,
                                         H5T_STD_U64LE,
                                         flag_.get(),
                                         text_.get(),
                                         H5T_STD_B8LE,
                                         H5T_NATIVE_LDOUBLE};
    const std::uint8_t choice = choices_.byte();
    return types[choice % 4 != 0 ? 0 : choice / 4 % types.size()];
  }

  Hdf5Handle any_properties(const std::vector<hsize_t>& sizes) {
    Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const std::uint8_t choice = choices_.byte();
    if (choice % 2 == 0 || sizes.empty()) return properties;
    std::vector<hsize_t> chunk;
    for (const hsize_t size : sizes)
      chunk.push_back(std::clamp<hsize_t>(choices_.below(6), 1, std::max<hsize_t>(size, 1)));
    H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
    if ((choice & 2) != 0) H5Pset_shuffle(properties.get());
    if ((choice & 4) != 0) H5Pset_deflate(properties.get(), 1);
    if ((choice & 8) != 0) H5Pset_fletcher32(properties.get());
    if ((choice & 0x70) == 0x70) H5Pset_deflate(properties.get(), 1);
    if ((choice & 0xb0) == 0xb0) H5Pset_scaleoffset(properties.get(), H5Z_SO_FLOAT_DSCALE, 2);
    return properties;
  }

  void add_array(const std::string& name, const std::vector<hsize_t>& sizes, bool is_flag) {
    const Hdf5Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
    const Hdf5Handle properties = any_properties(sizes);
    const hid_t type = any_type(is_flag);
    const Hdf5Handle array(
        H5Dcreate2(id(), name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Dclose);
    const hssize_t count = H5Sget_simple_extent_npoints(space.get());
    if (!array.is_open() || count > 1000 || choices_.byte() == 255) return;  // 255: it stays empty
    std::vector<double> values;
    while (std::ssize(values) < count) values.push_back(is_flag ? any_flag() : any_number());
    if (type == flag_.get()) {  // the library makes no flags of numbers
      std::vector<std::int8_t> flags;
      for (const double value : values) flags.push_back(value == 1 ? 1 : 0);
      H5Dwrite(array.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, flags.data());
    } else {
      H5Dwrite(array.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    }
  }

  double any_flag() {
    const std::uint8_t choice = choices_.byte();
    return choice == 255 ? any_number() : choice % 2;
  }

  double any_number() {
    switch (const std::uint8_t choice = choices_.byte()) {
      case 250:
        return std::nan("");
      case 251:
        return -HUGE_VAL;
      case 252:
        return 1e300;
      case 253:
        return 1e-300;
      default:
        return (choice - 100) / 16.0;
    }
  }

  void add_made() {
    const std::uint8_t choice = choices_.below(8);
    if (choice > 2 || !choices_.any()) return;
    std::string text;
    while (choices_.any() && text.size() < 40) text += static_cast<char>(choices_.byte());
    const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose), space(H5Screate(H5S_SCALAR), H5Sclose);
    H5Tset_size(type.get(), choice == 0 ? H5T_VARIABLE : std::max<std::size_t>(text.size(), 1));
    const char* const pointer = text.c_str();
    const void* const value = choice == 0 ? static_cast<const void*>(&pointer) : pointer;
    const Hdf5Handle group(H5Gcreate2(id(), "metadata", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    const Hdf5Handle array(
        H5Dcreate2(id(), "metadata/made", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
    H5Dwrite(array.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value);
    const Hdf5Handle attribute(H5Acreate2(id(), "made", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    H5Awrite(attribute.get(), type.get(), value);
  }

  Choices& choices_;
  Hdf5Handle file_, flag_, text_;
  hsize_t rows_ = 0, states_ = 1, actions_ = 1;
};

void check(const std::vector<std::byte>& file) {
  Trajectories read;
  try {
    read = primal::data::parse_trajectories(file, "fuzz");
  } catch (const primal::Error& error) {
    const std::string_view message = error.what();
    require(message.starts_with("fuzz:"), "an error begins with the file name");
    require(message.find_first_of("\r\n") == message.npos, "an error is one line");
    require(message.size() < 2000, "an error does not grow with the file");
    require(primal::base::is_utf8(message), "an error is UTF-8");
    return;
  }
  try {
    primal::data::check_trajectories(read, {}, "fuzz");
  } catch (const primal::Error&) {
    require(false, "what is read could be written");
  }
  require(read.unfinished >= 0, "no row is counted twice");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  primal::data::silence_hdf5();
  Choices choices(data, size);
  check(FileMaker(choices).make());
  return 0;
}
