// Small token streams in memory.
#pragma once

#include <string>
#include <vector>

#include "data/text/token_stream.h"

namespace primal::tests {

/// Documents of these sizes; token i has id (7 i + i i / 5) mod vocabulary.
inline data::TokenStream stream_of(const std::vector<int64_t>& documents, int64_t vocabulary = 19) {
  data::TokenStreamBuilder builder(vocabulary, "test");
  int64_t next = 0;
  for (const int64_t size : documents) {
    builder.begin_document();
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < size; ++i, ++next)
      ids.push_back(static_cast<int32_t>((7 * next + next * next / 5) % vocabulary));
    builder.add(ids);
  }
  const auto count = static_cast<uint64_t>(next);
  return data::TokenStream::from_bytes(builder.finish({.bytes = 3 * count, .words = count / 2, .unknown = 0}), "test",
                                       "test");
}

}  // namespace primal::tests
