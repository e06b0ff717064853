// In a build without HDF5.
#include <gtest/gtest.h>

#include "data/trajectories/trajectories.h"
#include "support/errors.h"

namespace {

using namespace primal::data;
using primal::tests::error_of;

TEST(TrajectoriesWithoutHdf5, SayHowToGetIt) {
  const std::string message =
      "a.hdf5: primal was built without HDF5; `./primal train offline-rl/...` sets it up, or install the Debian "
      "package "
      "libhdf5-dev and build again";
  EXPECT_FALSE(has_hdf5());
  EXPECT_EQ(error_of([] { read_trajectories("a.hdf5"); }), message);
  EXPECT_EQ(error_of([] { parse_trajectories({}, "a.hdf5"); }), message);
  EXPECT_EQ(error_of([] { write_d4rl("a.hdf5", {}, {}); }), message);
  EXPECT_EQ(error_of([] { write_minari("a.hdf5", {}, {}); }), message);
}

}  // namespace
