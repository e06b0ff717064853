#include "data/tokens/token_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "base/crc32c.h"
#include "base/text.h"
#include "base/write_failure.h"
#include "data/search_path.h"
#include "data/tokens/token_file.h"

namespace primal::data {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTokenCacheEnd = ".tokens";

/// Where a set is kept, and the description that its file must have.
struct TokenCacheEntry {
  fs::path file;
  std::string description;
};

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

/// The name of the file depends only on what a set is, not on the state of its sources: a new state replaces the file.
TokenCacheEntry token_cache_entry(const TokenCacheRequest& request) {
  std::string stable = request.name + "\n" + request.options + "\n", states;
  for (const fs::path& source : request.sources) {
    std::error_code ignored;
    stable += fs::absolute(source, ignored).lexically_normal().string() + "\n";
    states += fs::is_directory(source, ignored) ? state_of_folder(source, request.most_entries) : state_of_file(source);
    states += "\n";
  }
  const std::string file = request.name + "-" + base::crc32c_text(stable) + std::string(kTokenCacheEnd);
  return {request.folder / file, stable + states};
}

std::optional<TokenSet> kept_tokens(const TokenCacheEntry& entry) {
  try {
    return read_token_file(entry.file, entry.description);
  } catch (const Error&) {  // not there, damaged, or of another state of the sources
    return std::nullopt;
  }
}

/// Whether it is "NAME-<8 digits>.tokens".
bool is_token_cache_of(const std::string& name, const std::string& file) {
  constexpr size_t kDigits = 8;
  const std::string start = name + "-";
  if (!file.starts_with(start) || !file.ends_with(kTokenCacheEnd)) return false;
  if (file.size() != start.size() + kDigits + kTokenCacheEnd.size()) return false;
  return file.substr(start.size(), kDigits).find_first_not_of("0123456789abcdef") == file.npos;
}

/// Another process may be reading one of them: it keeps what it has opened.
void remove_other_tokens(const TokenCacheRequest& request, const TokenCacheEntry& kept) {
  for (const fs::path& path : entries(request.folder)) {
    const std::string file = path.filename().string();
    std::error_code ignored;
    if (is_token_cache_of(request.name, file) && file != kept.file.filename()) fs::remove(path, ignored);
  }
}

void keep_tokens(const TokenCacheRequest& request, const TokenCacheEntry& entry, const TokenSet& set) {
  std::error_code error;
  fs::create_directories(request.folder, error);
  if (error) base::fail_writing(request.folder, "make the folder", error);
  write_token_file(entry.file, set, entry.description);
  remove_other_tokens(request, entry);
}

std::string why_not_kept(const TokenCacheRequest& request, const Error& error) {
  return request.name + " is not kept for the next time: " + error.what();
}

}  // namespace

CachedTokens cached_tokens(const TokenCacheRequest& request, const std::function<TokenSet()>& read) {
  std::optional<TokenCacheEntry> entry;
  std::string note;
  try {
    entry = token_cache_entry(request);  // before reading: a change meanwhile is noticed the next time
  } catch (const Error& error) {
    note = why_not_kept(request, error);
  }
  if (!entry) return {read(), note};
  if (auto set = kept_tokens(*entry)) return {*std::move(set), ""};
  CachedTokens result{read(), ""};
  try {
    keep_tokens(request, *entry, result.set);
  } catch (const Error& error) {
    result.note = why_not_kept(request, error);
  }
  return result;
}

}  // namespace primal::data
