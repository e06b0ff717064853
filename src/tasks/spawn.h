// Starts another program.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace primal::tasks {

/// words: the name that the program sees and its arguments; nothing is read from standard input, and what it prints is
/// appended to the log. It has a process group of its own: the terminal's Ctrl-C reaches this process alone, which
/// passes it on. Throws Error, "could not start NAME: ...".
pid_t spawn(const std::string& program, const std::vector<std::string>& words, const std::filesystem::path& log);

/// As a shell tells it: 128 and the number of the signal that ended it.
int exit_code_of(int status);

}  // namespace primal::tasks
