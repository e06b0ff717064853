// What is made from sources and kept in a file, so that it need not be made again at the next start.
//
// It is made anew, and kept again, when
//   * a source has another size or time of modification, or an entry of a folder has, is new or is gone,
//   * the sources or the options are others,
//   * the file is damaged, or is not there.
// The bytes of the sources are not looked at: that would take as long as reading them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "primal/error.h"

namespace primal::data {

struct KeptRequest {
  std::filesystem::path folder;  ///< of the cache; made if it is not there
  std::string name;              ///< of what is kept, without a slash: "listops-train"
  std::string ending;            ///< of the file: ".tokens"
  /// Files, and folders of files. Of a folder the entries are looked at, but not those below them, nor hidden ones: the
  /// cache may be one. One that is not there counts as such.
  std::vector<std::filesystem::path> sources{};
  /// All else that it depends on: "tokens=2000", and a version once a reader gives something else than before.
  std::string options;
  int64_t most_entries = 1'000'000;  ///< of a folder; a larger one takes seconds to look at and is not kept
};

/// FOLDER/NAME-<8 digits>ENDING, and the description that it must have: request and state of the sources. The name
/// depends only on what is kept, not on the state of its sources: a new state replaces the file.
struct KeptFile {
  std::filesystem::path file;
  std::string description;
};

/// Throws primal::Error if the state of the sources cannot be told.
KeptFile kept_file(const KeptRequest& request);

/// Makes the folder, has the file written by `write`, and removes files of the same name for other options or sources,
/// so that the cache does not grow for ever. Another process may be reading one of them: it keeps what it has opened.
void keep_file(const KeptRequest& request, const KeptFile& kept, const std::function<void()>& write);

template <typename Value>
struct Kept {
  Value value;
  std::string note;  ///< a line that says why it was not kept, else ""
};

/// What read(kept) gives if it gives it, else what make(kept) gives, which write(kept, value) keeps for the next time.
/// A file that is damaged or cannot be written is no error; what `make` throws is thrown. Several processes may do so
/// at once if `write` puts the whole file in place at one go. Without sources that can be told, kept.file is empty.
template <typename Read, typename Make, typename Write>
auto kept_or_made(const KeptRequest& request, const Read& read, const Make& make, const Write& write)
    -> Kept<decltype(make(KeptFile{}))> {
  const auto why_not = [&](const Error& error) {
    return request.name + " is not kept for the next time: " + error.what();
  };
  KeptFile kept;
  try {
    kept = kept_file(request);  // before making: a change meanwhile is noticed the next time
  } catch (const Error& error) {
    std::string note = why_not(error);
    return {make(kept), std::move(note)};
  }
  try {
    return {read(kept), ""};
  } catch (const Error&) {  // not there, damaged, or of another state of the sources
  }
  Kept<decltype(make(kept))> result{make(kept), ""};
  try {
    keep_file(request, kept, [&] { write(kept, result.value); });
  } catch (const Error& error) {
    result.note = why_not(error);
  }
  return result;
}

}  // namespace primal::data
