#include "data/tokens/token_cache.h"

#include "data/tokens/token_file.h"

namespace primal::data {

CachedTokens cached_tokens(const TokenCacheRequest& request, const std::function<TokenSet()>& read) {
  const KeptRequest kept{.folder = request.folder,
                         .name = request.name,
                         .ending = ".tokens",
                         .sources = request.sources,
                         .options = request.options,
                         .most_entries = request.most_entries};
  auto result = kept_or_made(
      kept, [](const KeptFile& file) { return read_token_file(file.file, file.description); },
      [&](const KeptFile&) { return read(); },
      [](const KeptFile& file, const TokenSet& set) { write_token_file(file.file, set, file.description); });
  return {std::move(result.value), std::move(result.note)};
}

}  // namespace primal::data
