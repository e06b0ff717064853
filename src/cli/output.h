// The standard output.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/failure.h"
#include "base/format.h"

namespace primal::cli {

/// One JSON value, for programs that read ours.
inline void print_json(const nlohmann::json& json) {
  std::puts(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

/// Tables and sentences. Names in them come from files: the terminal must show and not obey them.
inline void print_text(std::string_view text, std::FILE* stream = stdout) {
  std::fputs(base::printable(text, /*lines=*/true).c_str(), stream);
}

/// Hands what was printed to the system. Output that could not be written must not pass for success: throws Failure.
inline void flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw base::Failure(std::string("standard output could not be written: ") + std::strerror(errno));
}

}  // namespace primal::cli
