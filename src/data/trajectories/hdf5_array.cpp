#include "data/trajectories/hdf5_array.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace primal::data {

namespace {

constexpr uint64_t kLargestRatioOfDeflate = 1032;  // of the algorithm; no stream of bytes can expand further
constexpr int64_t kValuesPerBlock = int64_t{1} << 18;

std::string dimensions_in_words(const std::vector<hsize_t>& sizes) {
  std::string result = "[";
  for (const hsize_t size : sizes) result += (result.size() > 1 ? ", " : "") + std::to_string(size);
  return result + "]";
}

}  // namespace

Hdf5Array::Hdf5Array(Hdf5File& file, std::string path, Shape shape) : file_(file), path_(std::move(path)) {
  switch (file_.kind_of(path_)) {
    case Hdf5File::Kind::kNothing:
      file_.fail(path_, ": there is no such data set");
    case Hdf5File::Kind::kGroup:
      file_.fail(path_, ": is a group of data sets, expected one array of numbers");
    case Hdf5File::Kind::kOther:
      file_.fail(path_, ": is a link or damaged, expected a data set in this file");
    case Hdf5File::Kind::kArray:
      break;
  }
  array_ = Hdf5Handle(H5Dopen2(file_.id(), path_.c_str(), H5P_DEFAULT), H5Dclose);
  type_ = Hdf5Handle(H5Dget_type(array_.get()), H5Tclose);
  space_ = Hdf5Handle(H5Dget_space(array_.get()), H5Sclose);
  if (!space_.is_open() || !type_.is_open()) file_.fail(path_, ": cannot be read: ", hdf5_reason());
  check_type();
  take_shape(shape);
  if (rows_ > 0) check_storage();
}

void Hdf5Array::check_type() const {
  constexpr std::size_t kLargestNumber = 8;
  const H5T_class_t kind = H5Tget_class(type_.get());
  const bool is_number = kind == H5T_FLOAT || kind == H5T_INTEGER || kind == H5T_ENUM;
  if (is_number && H5Tget_size(type_.get()) <= kLargestNumber) return;
  file_.fail(path_, ": expected numbers of at most 64 bits, got ",
             is_number              ? "longer ones"
             : kind == H5T_STRING   ? "texts"
             : kind == H5T_COMPOUND ? "records"
                                    : "something else");
}

void Hdf5Array::take_shape(Shape shape) {
  constexpr int kMostDimensions = 32;  // of the library
  rank_ = H5Sget_simple_extent_ndims(space_.get());
  std::vector<hsize_t> sizes(static_cast<std::size_t>(std::clamp(rank_, 0, kMostDimensions)));
  if (rank_ > 0) H5Sget_simple_extent_dims(space_.get(), sizes.data(), nullptr);
  const bool is_column = rank_ == 1 || (rank_ == 2 && sizes[1] == 1);
  if (shape == Shape::kMatrix ? rank_ != 2 : !is_column) {
    file_.fail(path_, ": expected ", shape == Shape::kMatrix ? "[rows, columns]" : "[rows] or [rows, 1]", ", got ",
               rank_ < 1 ? "no array" : dimensions_in_words(sizes));
  }
  constexpr hsize_t kMost = hsize_t{1} << 62;
  if (std::ranges::any_of(sizes, [](hsize_t size) { return size > kMost; })) {
    file_.fail(path_, ": claims to be ", dimensions_in_words(sizes));
  }
  rows_ = static_cast<int64_t>(sizes[0]);
  columns_ = rank_ == 2 ? static_cast<int64_t>(sizes[1]) : 1;
  if (columns_ == 0) file_.fail(path_, ": has no columns: ", dimensions_in_words(sizes));
}

/// How many times larger its values may be than their bytes in the file.
uint64_t Hdf5Array::expansion(hid_t creation) const {
  uint64_t result = 1;
  for (int i = 0; i < H5Pget_nfilters(creation); ++i) {
    unsigned flags = 0, config = 0;
    std::size_t parameters = 0;
    std::array<char, 64> name{};
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &parameters, nullptr,
                                               name.size() - 1, name.data(), &config);
    if (filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32) continue;
    if (filter != H5Z_FILTER_DEFLATE) {
      file_.fail(path_, ": expected values as they are or packed by gzip, got filter ", base::in_quotes(name.data()),
                 " (", filter, ")");
    }
    if (result > 1) file_.fail(path_, ": is packed by gzip twice");
    result = kLargestRatioOfDeflate;
  }
  return result;
}

void Hdf5Array::check_storage() {
  const Hdf5Handle creation(H5Dget_create_plist(array_.get()), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  if (layout == H5D_VIRTUAL || H5Pget_external_count(creation.get()) > 0) {
    file_.fail(path_, ": has its values in other files");
  }
  const uint64_t stored = H5Dget_storage_size(array_.get());
  file_.claim(path_, stored);
  const uint64_t most_bytes = stored * expansion(creation.get());  // no overflow: no file is that large
  const uint64_t size = H5Tget_size(type_.get());
  if (static_cast<uint64_t>(rows_) > most_bytes / size / static_cast<uint64_t>(columns_)) {
    file_.fail(path_, ": claims to have ", rows_, " rows of ", columns_, ", which its ", stored,
               " bytes in the file cannot hold");
  }
  if (layout == H5D_CHUNKED) check_chunks(creation.get(), most_bytes);
}

void Hdf5Array::check_chunks(hid_t creation, uint64_t most_bytes) {
  std::array<hsize_t, 2> sizes = {1, 1};
  if (H5Pget_chunk(creation, rank_, sizes.data()) != rank_) file_.fail(path_, ": cannot be read: ", hdf5_reason());
  // The library makes room for a whole chunk, whatever part of it there is to read.
  if (sizes[0] > most_bytes / H5Tget_size(type_.get()) / sizes[1]) {
    file_.fail(path_, ": claims to be made of pieces of ", sizes[0], " rows of ", sizes[1]);
  }
  chunk_rows_ = static_cast<int64_t>(sizes[0]);
  const auto pieces = [](int64_t size, hsize_t part) { return (static_cast<hsize_t>(size) + part - 1) / part; };
  const hsize_t expected = pieces(rows_, sizes[0]) * pieces(columns_, sizes[1]);
  hsize_t there = 0;
  if (H5Dget_num_chunks(array_.get(), space_.get(), &there) < 0) {
    file_.fail(path_, ": cannot be read: ", hdf5_reason());
  }
  // Missing ones would be read as zeros.
  if (there < expected) file_.fail(path_, ": has only ", there, " of its ", expected, " pieces");
}

int64_t Hdf5Array::rows_per_block() const {
  // Whole chunks, so that none is unpacked twice.
  const int64_t rows = std::max<int64_t>(kValuesPerBlock / columns_, 1);
  return (rows + chunk_rows_ - 1) / chunk_rows_ * chunk_rows_;
}

void Hdf5Array::read_block(int64_t begin, int64_t end, hid_t memory_type, void* into) const {
  const std::array<hsize_t, 2> start = {static_cast<hsize_t>(begin), 0};
  const std::array<hsize_t, 2> count = {static_cast<hsize_t>(end - begin), static_cast<hsize_t>(columns_)};
  const Hdf5Handle memory(H5Screate_simple(rank_, count.data(), nullptr), H5Sclose);
  const bool is_read =
      H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
      H5Dread(array_.get(), memory_type, memory.get(), space_.get(), H5P_DEFAULT, into) >= 0;
  if (!is_read) file_.fail(path_, ", rows ", begin, " to ", end - 1, ": cannot be read: ", hdf5_reason());
}

void Hdf5Array::read_floats(std::vector<float>& values, int64_t end) const {
  if (H5Tget_class(type_.get()) == H5T_ENUM) file_.fail(path_, ": expected numbers, got flags");
  if (values.empty()) values.reserve(static_cast<std::size_t>(end * columns_));
  for (int64_t begin = 0; begin < end;) {
    const int64_t next = std::min(end, begin + rows_per_block());
    const std::size_t known = values.size();
    values.resize(known + static_cast<std::size_t>((next - begin) * columns_));
    read_block(begin, next, H5T_NATIVE_FLOAT, values.data() + known);
    const auto wrong = std::find_if_not(values.begin() + static_cast<std::ptrdiff_t>(known), values.end(),
                                        [](float value) { return std::isfinite(value); });
    if (wrong != values.end()) {
      const int64_t index = begin * columns_ + (wrong - values.begin() - static_cast<std::ptrdiff_t>(known));
      const std::string column = columns_ > 1 ? ", column " + std::to_string(index % columns_) : "";
      file_.fail(path_, ", row ", index / columns_, column, ": expected a finite number of 32 bits, got ", *wrong);
    }
    begin = next;
  }
}

std::vector<uint8_t> Hdf5Array::read_flags() const {
  const bool is_float = H5Tget_class(type_.get()) == H5T_FLOAT;
  std::vector<uint8_t> flags;
  std::vector<float> floats;
  std::vector<int8_t> wholes;  // what does not fit becomes the nearest that does, which is no flag
  for (int64_t begin = 0; begin < rows_;) {
    const int64_t next = std::min(rows_, begin + rows_per_block());
    floats.resize(static_cast<std::size_t>(next - begin));
    if (is_float) {
      read_block(begin, next, H5T_NATIVE_FLOAT, floats.data());
    } else {
      wholes.resize(floats.size());
      read_block(begin, next, H5T_NATIVE_INT8, wholes.data());
      std::ranges::copy(wholes, floats.begin());
    }
    for (const float value : floats) {
      if (value != 0 && value != 1) {
        const bool is_nearest = !is_float && (value == 127 || value == -128);
        file_.fail(path_, ", row ", flags.size(), ": expected 0 or 1, got ", value, is_nearest ? " or beyond" : "");
      }
      flags.push_back(value == 1 ? 1 : 0);
    }
    begin = next;
  }
  return flags;
}

}  // namespace primal::data
