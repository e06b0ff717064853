// An open file of the operating system that closes itself, and the error of a call that failed on it.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace primal::base {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  bool close() { return !is_open() || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// For a system call that has just failed: "<path>: cannot <action>: <why>".
[[noreturn]] inline void fail_errno(const std::filesystem::path& path, std::string_view action) {
  fail(path.string(), "cannot ", action, ": ", std::generic_category().message(errno));
}

}  // namespace primal::base
