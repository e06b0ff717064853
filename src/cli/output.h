// The standard output.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/failure.h"

namespace primal::cli {

/// Hands what was printed to the system. Output that could not be written must not pass for success: throws Failure.
inline void flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw base::Failure(std::string("standard output could not be written: ") + std::strerror(errno));
}

}  // namespace primal::cli
