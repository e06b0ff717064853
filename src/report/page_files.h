// The files that make up a page, embedded into the program at build time (CMakeLists.txt).
#pragma once

#include <span>
#include <string_view>

namespace primal::report {

struct PageFile {
  std::string_view name;  ///< "report.css"
  std::string_view text;
  std::string_view sha256_hex;  ///< for the Content-Security-Policy
};

/// In the order in which the scripts must run; Chart.js first.
std::span<const PageFile> page_files();

}  // namespace primal::report
