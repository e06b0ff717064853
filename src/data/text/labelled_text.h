// Texts of two classes, neg and pos: the reviews of IMDB, which are the text task of the Long Range Arena.
//
//   TokenSet train = read_labelled_text("aclImdb/train", 4000);   // the archive: folders neg and pos of *.txt
//   TokenSet train = read_labelled_text("imdb_train.tsv", 4000);  // lines of label, rating, id and text
//
// Of each text the first `most_bytes` bytes are kept. They may be any bytes but zero, which is a sign of UTF-16 or of a
// file that is no text. An empty text is an error, as there is nothing to learn from it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/series/line_source.h"
#include "data/tokens/token_set.h"

namespace primal::data {

/// A folder with neg and pos, or a file of lines. Throws primal::Error, "<path>:<line>: expected ..., got ...".
TokenSet read_labelled_text(const std::filesystem::path& path, int64_t most_bytes);

/// label<tab>rating<tab>id<tab>text per line, without header and quotes. A label is 0, 1, neg or pos; rating and id are
/// not looked at.
TokenSet read_labelled_text(LineSource lines, int64_t most_bytes);

/// DIRECTORY/neg/*.txt, then DIRECTORY/pos/*.txt, each by the number that the name begins with, then by name, whatever
/// order the file system has. Anything else in these folders is passed over.
TokenSet read_labelled_folder(const std::filesystem::path& directory, int64_t most_bytes);

}  // namespace primal::data
