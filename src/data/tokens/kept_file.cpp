#include "data/tokens/kept_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <system_error>

#include "base/crc32c.h"
#include "base/text.h"
#include "base/write_failure.h"
#include "data/search_path.h"

namespace primal::data {

namespace fs = std::filesystem;

namespace {

/// "12 bytes, 1700000000 s 123456789 ns": size and time of modification, of a file or of an entry of a folder.
std::string state_of_file(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "not there";
  const auto [seconds, nanoseconds] = status.st_mtim;
  return std::to_string(status.st_size) + " bytes, " + std::to_string(seconds) + " s " + std::to_string(nanoseconds) +
         " ns";
}

/// "2 entries, 01234567": the checksum of the names and states of its entries.
std::string state_of_folder(const fs::path& folder, int64_t most_entries) {
  std::vector<std::string> states;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.')) continue;
    if (std::ssize(states) == most_entries) base::fail(folder.string(), "has more than ", most_entries, " entries");
    states.push_back(name + ": " + state_of_file(at->path()));
  }
  if (error) base::fail(folder.string(), "cannot list: ", error.message());
  std::ranges::sort(states);  // the system lists them in any order
  return std::to_string(states.size()) + " entries, " + base::crc32c_text(base::joined(states, "\n"));
}

/// Whether it is "NAME-<8 digits>ENDING".
bool is_kept_as(const KeptRequest& request, const std::string& file) {
  constexpr size_t kDigits = 8;
  const std::string start = request.name + "-";
  if (!file.starts_with(start) || !file.ends_with(request.ending)) return false;
  if (file.size() != start.size() + kDigits + request.ending.size()) return false;
  return file.substr(start.size(), kDigits).find_first_not_of("0123456789abcdef") == file.npos;
}

}  // namespace

KeptFile kept_file(const KeptRequest& request) {
  std::string stable = request.name + "\n" + request.options + "\n", states;
  for (const fs::path& source : request.sources) {
    std::error_code ignored;
    stable += fs::absolute(source, ignored).lexically_normal().string() + "\n";
    states += fs::is_directory(source, ignored) ? state_of_folder(source, request.most_entries) : state_of_file(source);
    states += "\n";
  }
  return {request.folder / (request.name + "-" + base::crc32c_text(stable) + request.ending), stable + states};
}

void keep_file(const KeptRequest& request, const KeptFile& kept, const std::function<void()>& write) {
  std::error_code error;
  fs::create_directories(request.folder, error);
  if (error) base::fail_writing(request.folder, "make the folder", error);
  write();
  for (const fs::path& path : entries(request.folder)) {
    const std::string file = path.filename().string();
    std::error_code ignored;
    if (is_kept_as(request, file) && file != kept.file.filename()) fs::remove(path, ignored);
  }
}

}  // namespace primal::data
