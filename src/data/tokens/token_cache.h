// A cache of encoded sets. Reading the 660 MB of ListOps or 200,000 pictures takes seconds to minutes at every start of
// a training, while what comes of it is a TokenSet of 100 to 200 MB that is copied from a file in tenths of a second.
//
// A set is read anew, and kept again, when
//   * a source has another size or time of modification, or an entry of a folder has, is new or is gone,
//   * the sources or the options are others,
//   * the file of the cache is damaged, or is not there.
// The bytes of the sources are not looked at: that would take as long as reading them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/tokens/token_set.h"

namespace primal::data {

struct TokenCacheRequest {
  std::filesystem::path folder;  ///< of the cache; made if it is not there
  std::string name;              ///< of the set, without a slash: "listops-train"
  /// Files, and folders of files. Of a folder the entries are looked at, but not those below them, nor hidden ones: the
  /// cache may be one. One that is not there counts as such.
  std::vector<std::filesystem::path> sources;
  /// All else that the set depends on: "tokens=2000", and a version once a reader gives other tokens than before.
  std::string options;
  int64_t most_entries = 1'000'000;  ///< of a folder; a larger one takes seconds to look at and is not kept
};

struct CachedTokens {
  TokenSet set;
  std::string note;  ///< a line that says why the set was not kept, else ""
};

/// The set from FOLDER/NAME-<8 digits>.tokens if that was made from this request, else what `read` gives, which is kept
/// there for the next time; files of the same name for other options or sources are removed then, so that the cache
/// does not grow for ever. A cache that is damaged or cannot be written is no error; what `read` throws is thrown.
/// Several processes may do so at once.
CachedTokens cached_tokens(const TokenCacheRequest& request, const std::function<TokenSet()>& read);

}  // namespace primal::data
