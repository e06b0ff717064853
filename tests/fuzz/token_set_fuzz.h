// What every reader of labelled sequences promises for any bytes: a one-line primal::Error, or a set whose parts fit
// together and whose memory is bounded by the size of the file.
#pragma once

#include <primal/error.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "data/tokens/token_set.h"

namespace primal::fuzz {

inline constexpr std::string_view kTokenFileName = "fuzz";

inline void require_of_tokens(bool condition, const char* promise) {  // assert() is off in a release build
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// The set that `read()` gives, unless the file is refused as it should be.
template <typename Read>
std::optional<data::TokenSet> read_tokens(const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require_of_tokens(message.starts_with("fuzz:"), "an error begins with the file name");
    require_of_tokens(message.find_first_of("\r\n") == message.npos, "an error is one line");
    require_of_tokens(message.size() < 2000, "an error does not grow with the file");
    require_of_tokens(base::is_utf8(message), "an error is UTF-8");
    return std::nullopt;
  }
}

inline void check_tokens(const data::TokenSet& set, int64_t per_example, int64_t longest, std::size_t file_size) {
  require_of_tokens(set.examples() > 0, "a file that is read has an example");
  require_of_tokens(set.per_example == per_example, "an example has as many sequences as the file says");
  require_of_tokens(std::ssize(set.ends) == set.examples() * per_example, "every sequence has an end");
  require_of_tokens(set.ends.back() == set.bytes.size(), "the last sequence ends where the bytes end");
  require_of_tokens(set.bytes.size() <= file_size, "a token takes at least a byte of the file");
  for (int64_t i = 0; i < set.examples(); ++i) {
    require_of_tokens(set.labels[static_cast<std::size_t>(i)] < set.classes.size(), "a label is one of the classes");
    for (int64_t which = 0; which < per_example; ++which) {
      const int64_t length = set.length(i, which);
      require_of_tokens(length > 0 && length <= longest, "a sequence has a token, and no more than were asked for");
    }
  }
}

}  // namespace primal::fuzz
