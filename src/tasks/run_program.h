// Another program, started and waited for.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace primal::tasks {

/// Runs words[0], looked for in PATH if it has no slash, with the other words as arguments, without input; what it
/// prints goes to the end of `log`. Its exit code, 128 + signal if one ended it. `stop` is asked all the time; once it
/// says so, the program and what it started are ended, and nothing is returned. Throws Error if it cannot be started.
std::optional<int> run_program(const std::vector<std::string>& words, const std::filesystem::path& log,
                               const std::function<bool()>& stop);

}  // namespace primal::tasks
