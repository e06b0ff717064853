// Compiled instead of the readers and writers where the build found no HDF5.
#include "base/text.h"
#include "data/trajectories/trajectories.h"

namespace primal::data {

namespace {

[[noreturn]] void fail_without_hdf5(std::string_view name) {
  base::fail(name,
             "primal was built without HDF5; `./primal train offline-rl/...` sets it up, or install the Debian package "
             "libhdf5-dev and build again");
}

}  // namespace

bool has_hdf5() { return false; }

Trajectories read_trajectories(const std::filesystem::path& file) { fail_without_hdf5(file.string()); }

Trajectories parse_trajectories(std::span<const std::byte>, std::string_view name) { fail_without_hdf5(name); }

void write_d4rl(const std::filesystem::path& file, const Trajectories&, const std::vector<float>&) {
  fail_without_hdf5(file.string());
}

void write_minari(const std::filesystem::path& file, const Trajectories&, const std::vector<float>&) {
  fail_without_hdf5(file.string());
}

}  // namespace primal::data
