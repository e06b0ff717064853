// The program itself, started several times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace primal::tasks {

struct Child {
  std::vector<std::string> arguments;
  std::filesystem::path log;  ///< gets what it prints
};

/// Runs all, at most `jobs` at a time, in order. `finished` gets the number of each and its exit code (128 + signal if
/// one ended it). A Ctrl-C, or a terminal that closes, is passed on to
/// those that run, none is started after it, and true is returned.
bool run_children(const std::vector<Child>& children, int64_t jobs, const std::function<void(size_t, int)>& finished);

}  // namespace primal::tasks
