// Trajectories and HDF5 files for tests, right and wrong ones.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/trajectories/hdf5_handle.h"
#include "data/trajectories/trajectories.h"

namespace primal::tests {

/// Episodes of these lengths with random numbers; every other one ends by a fall, the first does not.
inline data::Trajectories some_trajectories(const std::vector<int64_t>& lengths, int64_t state_size = 3,
                                            int64_t action_size = 2, uint64_t seed = 1) {
  base::Random random(seed);
  data::Trajectories result;
  result.state_size = state_size;
  result.action_size = action_size;
  const auto add = [&](std::vector<float>& values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.normal()));
  };
  for (const int64_t length : lengths) {
    const int64_t begin = result.rows();
    add(result.states, length * state_size);
    add(result.actions, length * action_size);
    add(result.rewards, length);
    result.episodes.push_back({begin, begin + length, result.episodes.size() % 2 == 1});
  }
  return result;
}

/// Other numbers than the states, so that a mix-up would be seen.
inline std::vector<float> states_after(const data::Trajectories& trajectories) {
  std::vector<float> result = trajectories.states;
  for (float& value : result) value += 100;
  return result;
}

/// A file made by the library's own functions, so that it may be wrong in every way.
class Hdf5Maker {
 public:
  explicit Hdf5Maker(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose) {}

  hid_t id() const { return file_.get(); }

  void group(const char* name) {
    data::Hdf5Handle(H5Gcreate2(id(), name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  }

  /// `file_type` in the file, values converted from doubles; of chunks with `properties`.
  void numbers(const char* name, const std::vector<hsize_t>& sizes, const std::vector<double>& values,
               hid_t file_type = H5T_IEEE_F32LE, hid_t properties = H5P_DEFAULT) {
    const data::Hdf5Handle array = empty(name, sizes, file_type, properties);
    if (!values.empty()) H5Dwrite(array.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }

  /// Nothing is written to it.
  data::Hdf5Handle empty(const char* name, const std::vector<hsize_t>& sizes, hid_t file_type = H5T_IEEE_F32LE,
                         hid_t properties = H5P_DEFAULT) {
    const data::Hdf5Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
    return {H5Dcreate2(id(), name, file_type, space.get(), H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose};
  }

 private:
  data::Hdf5Handle file_;
};

}  // namespace primal::tests
