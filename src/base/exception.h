// What exceptions of any library say, for people.
#pragma once

#include <exception>
#include <string>

namespace primal::base {

/// Whether memory, or what a thread needs, could not be had.
bool is_out_of_memory(const std::exception& error);

/// The message without the stack trace that some libraries add, or "not enough memory: ...".
std::string in_one_line(const std::exception& error);

}  // namespace primal::base
