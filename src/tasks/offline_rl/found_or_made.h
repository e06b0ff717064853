// Sets of robots that are recorded where they are missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/progress.h"
#include "data/search_path.h"

namespace primal::tasks {

/// The file of a set; if it is missing, it is made in data/offline-rl/NAME of the working directory. Without progress
/// it is an Error that it is missing. threads: 0 for one per core. Throws base::Interrupted on Ctrl-C.
std::filesystem::path found_or_made(const std::string& set, const data::SearchPath& search, base::Progress* progress,
                                    int64_t threads = 0);

}  // namespace primal::tasks
