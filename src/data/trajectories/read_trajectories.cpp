// Which layout a file has.
#include <algorithm>
#include <new>

#include "data/trajectories/d4rl_layout.h"
#include "data/trajectories/minari_layout.h"

namespace primal::data {

namespace {

/// For the error about a file with neither layout.
std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  std::string result;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    result += (i > 0 ? ", " : "") + base::in_quotes(names[i]);
  }
  return result.empty() ? "nothing" : result + (names.size() > kMost ? ", ..." : "");
}

Trajectories read_either_layout(Hdf5File& file) {
  try {
    if (file.kind_of("observations") != Hdf5File::Kind::kNothing) return read_d4rl(file);
    const std::vector<std::string> names = file.names();
    if (std::ranges::any_of(names, [](const std::string& name) { return minari_episode(name).has_value(); })) {
      return read_minari(file);
    }
    file.fail("has neither a data set observations (D4RL's layout) nor groups episode_0, .. (Minari's); it has ",
              first_names(names));
  } catch (const std::bad_alloc&) {
    file.fail("does not fit into memory");
  }
}

}  // namespace

bool has_hdf5() { return true; }

Trajectories read_trajectories(const std::filesystem::path& path) {
  Hdf5File file(path);
  return read_either_layout(file);
}

Trajectories parse_trajectories(std::span<const std::byte> bytes, std::string_view name) {
  Hdf5File file(bytes, name);
  return read_either_layout(file);
}

}  // namespace primal::data
