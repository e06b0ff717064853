#include "data/series/line_source.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace primal::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = std::size_t{1} << 18;        // bytes of one read from a pipe
constexpr std::size_t kLongestLine = std::size_t{1} << 30;  // of a pipe; a file ends

}  // namespace

LineSource::LineSource(const fs::path& path) : name_(path == "-" ? "standard input" : path.string()) {
  std::error_code ignored;  // what cannot be looked at cannot be opened either, and says so below
  if (path == "-") {
    reads_from_ = STDIN_FILENO;
  } else if (const fs::file_status status = fs::status(path, ignored); fs::is_other(status)) {
    pipe_ = base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!pipe_.is_open()) base::fail_errno(path, "open");
    reads_from_ = pipe_.get();
  } else {
    mapped_ = std::make_shared<base::MappedFile>(path, "a .ts or CSV file");
    rest_ = mapped_->text();
  }
}

LineSource::LineSource(std::string name, std::string_view text) : name_(std::move(name)), rest_(text) {}

bool LineSource::next(std::string_view& line) {
  if (!std::exchange(again_, false)) {
    if (!take_line()) return false;
    ++line_number_;
    check_line();
  }
  line = line_;
  return true;
}

bool LineSource::take_line() {
  std::size_t searched = 0;  // a long line that comes in small pieces is searched once
  std::size_t end = rest_.find('\n');
  while (end == rest_.npos) {
    searched = rest_.size();
    if (!read_more()) break;
    check_arrived(searched);
    end = rest_.find('\n', searched);
  }
  if (rest_.empty()) return false;
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  return true;
}

/// Appends what has arrived at the pipe to rest_; false at the end.
bool LineSource::read_more() {
  if (reads_from_ < 0) return false;
  const std::size_t kept = rest_.size();
  if (kept > 0) std::memmove(buffer_.data(), rest_.data(), kept);
  if (buffer_.size() < kept + kBlock / 2) buffer_.resize(std::max(kBlock, 2 * kept));
  ssize_t got = 0;
  do {
    got = ::read(reads_from_, buffer_.data() + kept, buffer_.size() - kept);
  } while (got < 0 && errno == EINTR);
  if (got < 0) base::fail_errno(name_, "read");
  if (got == 0) reads_from_ = -1;
  rest_ = {buffer_.data(), kept + static_cast<std::size_t>(got)};
  return got > 0;
}

/// A line that does not end must not fill the memory: /dev/zero, or the output of a program that writes no text.
void LineSource::check_arrived(std::size_t searched) const {
  const std::string_view line = rest_.substr(0, rest_.find('\n', searched));
  if (const std::size_t zero = line.find('\0', searched); zero != line.npos) fail_at_zero(line_number_ + 1, zero);
  if (line.size() > kLongestLine) {
    fail_at(line_number_ + 1, "expected lines of up to ", kLongestLine >> 20, " MB, got a longer one");
  }
}

void LineSource::fail_at_zero(int64_t line_number, std::size_t column) const {
  fail_at(line_number, "expected text, got a zero byte at column ", column + 1, " (is the file binary or UTF-16?)");
}

void LineSource::check_line() {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (line_number_ == 1 && line_.starts_with(kByteOrderMark)) line_.remove_prefix(kByteOrderMark.size());
  if (const std::size_t zero = line_.find('\0'); zero != line_.npos) {
    fail_at_zero(line_number_, zero);
  }
  if (line_number_ > 1) return;
  const std::size_t end = line_.find('\r');
  if (end != line_.npos && line_.find_first_not_of('\r', end) != line_.npos) {
    fail("expected lines that end in LF or CR LF, got a CR alone at column ", end + 1);
  }
}

}  // namespace primal::data
