// WriteFailure: a file that cannot be written, through no mistake in what the caller gave.
#pragma once

#include <primal/error.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace primal::base {

/// A full disk, say, or rights that are gone. The program ends with exit code 1.
class WriteFailure : public Error {
 public:
  using Error::Error;
};

/// Whether the name itself is wrong: a folder that is not there, a file where a folder should be.
inline bool is_wrong_name(const std::error_code& error) {
  for (const std::errc wrong :
       {std::errc::no_such_file_or_directory, std::errc::not_a_directory, std::errc::is_a_directory,
        std::errc::filename_too_long, std::errc::file_exists, std::errc::too_many_symbolic_link_levels}) {
    if (error == wrong) return true;
  }
  return false;
}

/// "<path>: cannot <action>: <why>", as Error if the name is wrong and as WriteFailure if not.
[[noreturn]] inline void fail_writing(const std::filesystem::path& path, std::string_view action,
                                      const std::error_code& error) {
  const std::string message = path.string() + ": cannot " + std::string(action) + ": " + error.message();
  if (is_wrong_name(error)) throw Error(message);
  throw WriteFailure(message);
}

/// The same for a system call that has just failed.
[[noreturn]] inline void fail_writing(const std::filesystem::path& path, std::string_view action) {
  fail_writing(path, action, std::error_code(errno, std::generic_category()));
}

}  // namespace primal::base
