// Pairs of texts that belong together or do not: the retrieval task of the Long Range Arena (AAN, papers that cite each
// other), and the pairs of article_pairs.h.
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/series/line_source.h"
#include "data/tokens/token_set.h"

namespace primal::data {

/// Lines of new_aan_pairs.{train,eval,test}.tsv: label<tab>id<tab>id<tab>text<tab>text, without header and quotes. A
/// label is 0 or 1, mostly written as 0.0 and 1.0, or the name of its class, unrelated or related; the ids are not
/// looked at. Of each text the first `most_bytes` bytes are kept. They may be any bytes but zero; an empty text is an
/// error. Throws primal::Error, "<path>:<line>: expected ..., got ...".
TokenSet read_document_pairs(const std::filesystem::path& path, int64_t most_bytes);
TokenSet read_document_pairs(LineSource lines, int64_t most_bytes);

}  // namespace primal::data
