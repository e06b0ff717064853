// Whatever is wrong with a file of trajectories is one line that says what and where.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "data/trajectories/trajectory_files.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

using namespace primal::data;
using primal::tests::contains;
using primal::tests::error_of;
using primal::tests::Hdf5Maker;
using primal::tests::some_trajectories;
using primal::tests::states_after;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class BrokenTrajectories : public primal::tests::FolderTest {
 protected:
  using Change = std::function<void(Hdf5Maker&)>;

  /// What is said of a file with the sound data sets of one episode of 4 steps, `replaced` ones by `change`.
  std::string error_with(const std::vector<std::string>& replaced, const Change& change,
                         const std::string& group = "") {
    {
      Hdf5Maker file(path.string());
      if (!group.empty()) file.group(group.c_str());
      const std::string before = group.empty() ? "" : group + "/";
      const hsize_t observations = group.empty() ? 4 : 5;
      const auto add = [&](const char* name, const std::vector<hsize_t>& sizes, double last) {
        if (std::ranges::count(replaced, name) > 0) return;
        hsize_t count = 1;
        for (const hsize_t size : sizes) count *= size;
        std::vector<double> values(count);
        values.back() = last;
        file.numbers((before + name).c_str(), sizes, values);
      };
      add("observations", {observations, 3}, 0);
      add("actions", {4, 2}, 0);
      add("rewards", {4}, 0);
      add(group.empty() ? "terminals" : "terminations", {4}, 1);
      add(group.empty() ? "timeouts" : "truncations", {4}, 0);
      change(file);
    }
    return reading_error();
  }

  std::string reading_error() {
    const std::string message = error_of([&] { read_trajectories(path); });
    EXPECT_EQ(message.find('\n'), message.npos);
    return message.substr(std::min(message.size(), path.string().size() + 2));
  }

  static Change nothing() {
    return [](Hdf5Maker&) {};
  }

  const std::filesystem::path path = folder / "a.hdf5";
};

TEST_F(BrokenTrajectories, WhatIsNoHdf5FileIsRefused) {
  EXPECT_EQ(reading_error(), "cannot open: No such file or directory");
  write("a.hdf5", "observations,actions\n1,2\n");
  EXPECT_EQ(reading_error(), "is not an HDF5 file");
  write("a.hdf5", "");
  EXPECT_EQ(reading_error(), "is not an HDF5 file");
  EXPECT_TRUE(contains(error_of([&] { read_trajectories(folder); }), "is a directory, expected an HDF5 file"));
  EXPECT_TRUE(contains(error_of([&] { read_trajectories("/dev/null"); }), "/dev/null: is not a regular file"));
}

TEST_F(BrokenTrajectories, EveryCutIsAnError) {
  const Trajectories trajectories = some_trajectories({4, 5});
  for (const auto write_file : {write_d4rl, write_minari}) {
    write_file(path, trajectories, states_after(trajectories));
    const std::string whole = primal::tests::read(path);
    for (size_t size = 0; size < whole.size(); size += 13) {
      const std::string cut = whole.substr(0, size);
      const std::string message =
          error_of([&] { parse_trajectories(std::as_bytes(std::span(cut.data(), cut.size())), "cut"); });
      EXPECT_TRUE(
          contains(message, size == 0 ? "cut: is not an HDF5 file" : "cut: cannot open, perhaps it is cut off"));
    }
    write("a.hdf5", whole.substr(0, whole.size() / 2));
    EXPECT_TRUE(contains(reading_error(), "cannot open, perhaps it is cut off: \"truncated file"));
  }
}

TEST_F(BrokenTrajectories, OtherLayoutsAreNamed) {
  {
    Hdf5Maker file(path.string());
    file.numbers("obs", {2}, {1, 2});
    file.group("episodes");
  }
  EXPECT_EQ(reading_error(),
            "has neither a data set observations (D4RL's layout) nor groups episode_0, .. (Minari's); it has "
            "\"episodes\", \"obs\"");
  { Hdf5Maker file(path.string()); }
  EXPECT_TRUE(contains(reading_error(), "it has nothing"));
}

TEST_F(BrokenTrajectories, MissingDataSetsAreNamed) {
  for (const std::string name : {"actions", "rewards", "terminals"}) {
    EXPECT_EQ(error_with({name}, nothing()), name + ": there is no such data set");
  }
  for (const std::string name : {"observations", "actions", "rewards", "terminations", "truncations"}) {
    EXPECT_EQ(error_with({name}, nothing(), "episode_3"), "episode_3/" + name + ": there is no such data set");
  }
}

TEST_F(BrokenTrajectories, NumbersThatAreNotFiniteAreNamedWithTheirRow) {
  const auto with_observations = [&](double value, hid_t type) {
    return error_with({"observations"}, [&](Hdf5Maker& file) {
      file.numbers("observations", {4, 3}, {0, 0, 0, 0, 0, value, 0, 0, 0, 0, 0, 0}, type);
    });
  };
  EXPECT_EQ(with_observations(kNan, H5T_IEEE_F32LE),
            "observations, row 1, column 2: expected a finite number of 32 bits, got nan");
  EXPECT_EQ(with_observations(-kInfinity, H5T_IEEE_F64LE),
            "observations, row 1, column 2: expected a finite number of 32 bits, got -inf");
  EXPECT_EQ(with_observations(1e300, H5T_IEEE_F64LE),
            "observations, row 1, column 2: expected a finite number of 32 bits, got inf");
  EXPECT_EQ(error_with({"rewards"},
                       [](Hdf5Maker& file) {
                         file.numbers("rewards", {4}, {0, 0, kNan, 0});
                       }),
            "rewards, row 2: expected a finite number of 32 bits, got nan");
}

TEST_F(BrokenTrajectories, RowsThatDoNotFitTogetherAreBothSaid) {
  const auto short_of = [&](const std::string& name, const std::vector<hsize_t>& sizes, const std::string& group = "") {
    return error_with(
        {name},
        [&](Hdf5Maker& file) {
          file.numbers(((group.empty() ? "" : group + "/") + name).c_str(), sizes, std::vector<double>(50));
        },
        group);
  };
  EXPECT_EQ(short_of("actions", {3, 2}), "actions: has 3 rows, observations has 4");
  EXPECT_EQ(short_of("rewards", {5}), "rewards: has 5 rows, observations has 4");
  EXPECT_EQ(short_of("timeouts", {0}), "timeouts: has 0 rows, observations has 4");
  EXPECT_EQ(short_of("observations", {4, 3}, "episode_0"),
            "episode_0/observations: expected 5 rows for the 4 rewards, got 4");
  EXPECT_EQ(short_of("actions", {5, 2}, "episode_0"), "episode_0/actions: expected 4 rows for the 4 rewards, got 5");
}

TEST_F(BrokenTrajectories, EpisodesOfMinariHaveTheSameColumns) {
  const auto add_another = [](Hdf5Maker& file) {
    file.group("episode_1");
    file.numbers("episode_1/observations", {2, 3}, std::vector<double>(6));
    file.numbers("episode_1/actions", {1, 6}, std::vector<double>(6));
    for (const char* const name : {"rewards", "terminations", "truncations"}) {
      file.numbers((std::string("episode_1/") + name).c_str(), {1}, {1});
    }
  };
  EXPECT_EQ(error_with({}, add_another, "episode_0"), "episode_1/actions: expected 2 columns as in episode_0, got 6");
}

TEST_F(BrokenTrajectories, NothingIsNoEpisode) {
  EXPECT_EQ(error_with({"terminals"},
                       [](Hdf5Maker& file) {
                         file.numbers("terminals", {4}, {0, 0, 0, 0});
                       }),
            "no episode ends in its 4 rows: terminals and timeouts are never true");
  EXPECT_EQ(error_with({"terminals", "timeouts"},
                       [](Hdf5Maker& file) {
                         file.numbers("terminals", {4}, {0, 0, 0, 0});
                       }),
            "no episode ends in its 4 rows: terminals is never true");
  EXPECT_EQ(error_with({"observations"},
                       [](Hdf5Maker& file) {
                         file.numbers("observations", {0, 3}, {});
                       }),
            "observations: has no rows");
  EXPECT_EQ(error_with(
                {"rewards"}, [](Hdf5Maker& file) { file.numbers("episode_7/rewards", {0}, {}); }, "episode_7"),
            "episode_7: has no steps");
  EXPECT_EQ(error_with(
                {"terminations"},
                [](Hdf5Maker& file) {
                  file.numbers("episode_7/terminations", {4}, {0, 0, 0, 0});
                },
                "episode_7"),
            "none of its 1 episodes ends: terminations and truncations are never true");
}

TEST_F(BrokenTrajectories, AnEpisodeOfMinariEndsOnce) {
  EXPECT_EQ(error_with(
                {"truncations"},
                [](Hdf5Maker& file) {
                  file.numbers("episode_0/truncations", {4}, {0, 1, 0, 0});
                },
                "episode_0"),
            "episode_0/truncations, row 1: ends the episode, which has 4 steps");
}

TEST_F(BrokenTrajectories, OtherShapesAreRefused) {
  const auto with = [&](const char* name, const std::vector<hsize_t>& sizes) {
    return error_with({name}, [&](Hdf5Maker& file) { file.numbers(name, sizes, std::vector<double>(50)); });
  };
  EXPECT_EQ(with("observations", {4, 3, 2}), "observations: expected [rows, columns], got [4, 3, 2]");
  EXPECT_EQ(with("observations", {4}), "observations: expected [rows, columns], got [4]");
  EXPECT_EQ(with("observations", {4, 0}), "observations: has no columns: [4, 0]");
  EXPECT_EQ(with("rewards", {4, 2}), "rewards: expected [rows] or [rows, 1], got [4, 2]");
  EXPECT_EQ(with("terminals", {}), "terminals: expected [rows] or [rows, 1], got no array");
}

TEST_F(BrokenTrajectories, OtherKindsOfValuesAreRefused) {
  const Hdf5Handle text(H5Tcopy(H5T_C_S1), H5Tclose), record(H5Tcreate(H5T_COMPOUND, 4), H5Tclose);
  H5Tinsert(record.get(), "x", 0, H5T_IEEE_F32LE);
  const auto with = [&](hid_t type) {
    return error_with({"actions"}, [&](Hdf5Maker& file) { file.empty("actions", {4, 2}, type); });
  };
  EXPECT_EQ(with(text.get()), "actions: expected numbers of at most 64 bits, got texts");
  EXPECT_EQ(with(record.get()), "actions: expected numbers of at most 64 bits, got records");
  EXPECT_EQ(with(H5T_NATIVE_LDOUBLE), "actions: expected numbers of at most 64 bits, got longer ones");
  EXPECT_EQ(error_with(
                {"observations"}, [](Hdf5Maker& file) { file.group("episode_0/observations"); }, "episode_0"),
            "episode_0/observations: is a group of data sets, expected one array of numbers");
}

TEST_F(BrokenTrajectories, FlagsAreZeroOrOne) {
  const auto with = [&](double value, hid_t type) {
    return error_with({"timeouts"}, [&](Hdf5Maker& file) { file.numbers("timeouts", {4}, {0, 1, value, 0}, type); });
  };
  EXPECT_EQ(with(7, H5T_STD_I8LE), "timeouts, row 2: expected 0 or 1, got 7");
  EXPECT_EQ(with(256, H5T_STD_I32LE), "timeouts, row 2: expected 0 or 1, got 127 or beyond");
  EXPECT_EQ(with(0.5, H5T_IEEE_F32LE), "timeouts, row 2: expected 0 or 1, got 0.5");
  EXPECT_EQ(with(kNan, H5T_IEEE_F64LE), "timeouts, row 2: expected 0 or 1, got nan");
}

TEST_F(BrokenTrajectories, LinksToOtherPlacesAreNotFollowed) {
  const std::string refusal = "actions: is a link or damaged, expected a data set in this file";
  EXPECT_EQ(error_with({"actions"},
                       [](Hdf5Maker& file) {
                         H5Lcreate_external("/etc/passwd", "/actions", file.id(), "actions", H5P_DEFAULT, H5P_DEFAULT);
                       }),
            refusal);
  EXPECT_EQ(error_with({"actions"},
                       [](Hdf5Maker& file) {
                         H5Lcreate_soft("/observations", file.id(), "actions", H5P_DEFAULT, H5P_DEFAULT);
                       }),
            refusal);
  const Hdf5Handle elsewhere(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_external(elsewhere.get(), "/etc/passwd", 0, 32);
  EXPECT_EQ(error_with({"actions"},
                       [&](Hdf5Maker& file) {
                         file.empty("actions", {4, 2}, H5T_IEEE_F32LE, elsewhere.get());
                       }),
            "actions: has its values in other files");
}

TEST_F(BrokenTrajectories, MetadataOfOursMustBeJson) {
  const auto with = [&](const std::string& text) {
    return error_with({}, [&](Hdf5Maker& file) {
      const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
      H5Tset_size(type.get(), text.size());
      file.group("metadata");
      const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
      const Hdf5Handle array(
          H5Dcreate2(file.id(), "metadata/made", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          H5Dclose);
      H5Dwrite(array.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data());
    });
  };
  EXPECT_TRUE(contains(with("{\"a\": "), "metadata/made: is not JSON: "));
  EXPECT_EQ(error_with({},
                       [](Hdf5Maker& file) {
                         file.group("metadata");
                         file.numbers("metadata/made", {1}, {1});
                       }),
            "metadata/made: expected one text");
}

/// How a data set is stored: chunks of these rows and columns.
Hdf5Handle chunks_of(const std::array<hsize_t, 2>& sizes) {
  Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(properties.get(), 2, sizes.data());
  return properties;
}

TEST_F(BrokenTrajectories, WhatAFileCannotHoldIsRefusedBeforeItTakesMemory) {
  constexpr hsize_t kMany = hsize_t{1} << 60;
  const auto with = [&](const std::vector<hsize_t>& sizes, hid_t properties) {
    return error_with({"observations"}, [&](Hdf5Maker& file) {
      const Hdf5Handle array = file.empty("observations", sizes, H5T_IEEE_F32LE, properties);
      const Hdf5Handle space(H5Dget_space(array.get()), H5Sclose), one(H5Screate(H5S_SCALAR), H5Sclose);
      const std::array<hsize_t, 2> start = {0, 0}, count = {1, 1};
      H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
      const float value = 1;
      if (properties != H5P_DEFAULT) {
        H5Dwrite(array.get(), H5T_NATIVE_FLOAT, one.get(), space.get(), H5P_DEFAULT, &value);
      }
    });
  };
  EXPECT_EQ(with({kMany, 3}, chunks_of({4, 3}).get()),
            "observations: claims to have 1152921504606846976 rows of 3, which its 48 bytes in the file cannot hold");
  EXPECT_EQ(with({1000, 3}, H5P_DEFAULT),
            "observations: claims to have 1000 rows of 3, which its 0 bytes in the file cannot hold");
  const Hdf5Handle packed = chunks_of({4, 3});
  H5Pset_deflate(packed.get(), 4);
  EXPECT_TRUE(contains(with({kMany, 3}, packed.get()), "observations: claims to have 1152921504606846976 rows"));
  EXPECT_EQ(with({400, 3}, packed.get()), "observations: has only 1 of its 100 pieces");
  H5Pset_deflate(packed.get(), 4);
  EXPECT_EQ(with({4, 3}, packed.get()), "observations: is packed by gzip twice");
}

TEST_F(BrokenTrajectories, OtherFiltersAreNamed) {
  const Hdf5Handle properties = chunks_of({4, 2});
  H5Pset_nbit(properties.get());
  EXPECT_EQ(error_with({"actions"},
                       [&](Hdf5Maker& file) {
                         file.numbers("actions", {4, 2}, std::vector<double>(8), H5T_IEEE_F32LE, properties.get());
                       }),
            "actions: expected values as they are or packed by gzip, got filter \"nbit\" (5)");
}

TEST_F(BrokenTrajectories, EpisodesOnTopOfEachOtherDoNotFillTheMemory) {
  const auto repeat = [](Hdf5Maker& file) {
    for (int i = 1; i < 2000; ++i) {
      const std::string name = "episode_" + std::to_string(i);
      H5Lcreate_hard(file.id(), "episode_0", file.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    }
  };
  const auto with_long_rows = [&](Hdf5Maker& file) {
    file.numbers("episode_0/observations", {5, 10'000}, std::vector<double>(50'000));
    repeat(file);
  };
  EXPECT_TRUE(contains(error_with({"observations"}, with_long_rows, "episode_0"),
                       "/observations: claims to have 200000 bytes, the file has"));
}

TEST_F(BrokenTrajectories, DamagedPackedValuesAreAnError) {
  const Trajectories trajectories = some_trajectories({400, 500});
  write_d4rl(path, trajectories, {});
  std::string bytes = primal::tests::read(path);
  const size_t gzip = bytes.find("\x78\x5e");  // how a stream of level 4 begins
  ASSERT_NE(gzip, bytes.npos);
  for (size_t i = gzip + 20; i < gzip + 60; ++i) bytes[i] = static_cast<char>(~bytes[i]);
  write("a.hdf5", bytes);
  EXPECT_TRUE(contains(reading_error(), ": cannot be read: \""));
}

}  // namespace
