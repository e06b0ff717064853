// The variants of a preset that `primal ablate` trains: each takes one part of the method away, or puts another in its
// place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.h"

namespace primal::tasks {

struct ConfigRequest;

/// The preset as it is, the first of the variants.
inline constexpr const char* kBaseVariant = "base";

struct Variant {
  std::string name;                ///< "eta-0"
  std::string group;               ///< the part of the method that it is about
  std::string change;              ///< for people
  std::vector<std::string> set{};  ///< "key=value", after those of the preset
  std::string skipped{};           ///< why the preset has no such variant; empty: it has
  int64_t parameters = 0;          ///< of the model; 0 if skipped
};

/// The preset itself, called "base", and then its variants. Those of another kind of attention or another depth have as
/// many parameters, within 1 %, by the width of the feed-forward part. Reads the data, and makes them if they are
/// missing and `progress` is given: the number of parameters depends on them. `only`: these alone, and "base". Throws
/// Error for an unknown name, for a preset without primal layers, and if the preset has none of the variants.
std::vector<Variant> ablation_variants(const ConfigRequest& preset, const std::vector<std::string>& only,
                                       base::Progress* progress);

/// Every name with what changes, for people; no data are read.
std::string ablation_list();

}  // namespace primal::tasks
