// A cache of encoded sets. Reading the 660 MB of ListOps or 200,000 pictures takes seconds to minutes at every start of
// a training, while what comes of it is a TokenSet of 100 to 200 MB that is copied from a file in tenths of a second.
// When a set is read anew: kept_file.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/tokens/kept_file.h"
#include "data/tokens/token_set.h"

namespace primal::data {

/// As in KeptRequest.
struct TokenCacheRequest {
  std::filesystem::path folder;
  std::string name;
  std::vector<std::filesystem::path> sources;
  std::string options;
  int64_t most_entries = 1'000'000;
};

struct CachedTokens {
  TokenSet set;
  std::string note;  ///< a line that says why the set was not kept, else ""
};

/// The set from FOLDER/NAME-<8 digits>.tokens if that was made from this request, else what `read` gives, which is kept
/// there for the next time. What `read` throws is thrown.
CachedTokens cached_tokens(const TokenCacheRequest& request, const std::function<TokenSet()>& read);

}  // namespace primal::data
