// The lines of a text file, of a pipe or of a text in memory, one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/mapped_file.h"
#include "base/text.h"

namespace primal::data {

/// A regular file is mapped. Anything else is read as it comes: a line is given out as soon as its end has arrived, and
/// no more than the longest line so far (and 256 KiB) is kept. There a line of more than 1 GB is an error.
class LineSource {
 public:
  /// "-" is standard input. Throws primal::Error, "<path>: ...".
  explicit LineSource(const std::filesystem::path& path_or_dash);
  /// Lines of `text`, which must live as long as this.
  LineSource(std::string name, std::string_view text);

  /// The next line without its end (LF or CRLF), valid until the next call; false at the end. A byte order mark at the
  /// start is dropped; a zero byte is an error, as no text has one, and so is a CR inside the first line.
  bool next(std::string_view& line);
  /// The next call of next() gives the last line again. Once between two calls.
  void put_back() { again_ = true; }

  const std::string& name() const { return name_; }
  int64_t line_number() const { return line_number_; }  ///< of the last line given, from 1

  /// Throws primal::Error, "<name>:<line number>: <parts>".
  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    fail_at(line_number_, parts...);
  }
  template <typename... Parts>
  [[noreturn]] void fail_at(int64_t line_number, const Parts&... parts) const {
    base::fail(name_ + ":" + std::to_string(line_number), parts...);
  }

 private:
  bool take_line();
  bool read_more();
  void check_line();
  void check_arrived(std::size_t searched) const;
  [[noreturn]] void fail_at_zero(int64_t line_number, std::size_t column) const;

  std::string name_;
  std::shared_ptr<base::MappedFile> mapped_;
  base::FileDescriptor pipe_;
  int reads_from_ = -1;       // number of the pipe, which may be standard input and then is not ours to close
  std::vector<char> buffer_;  // of a pipe
  std::string_view rest_;     // what is there and not given out yet
  std::string_view line_;
  int64_t line_number_ = 0;
  bool again_ = false;
};

}  // namespace primal::data
