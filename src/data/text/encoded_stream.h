// Text files as a token stream that is made once and then kept in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/text/text_coder.h"
#include "data/text/text_pieces.h"
#include "data/text/token_stream.h"

namespace primal::data {

struct StreamRequest {
  std::filesystem::path folder;   ///< of the cache; made if it is not there
  std::string name;               ///< of the text, without a slash: "wikitext-2-train"
  std::vector<TextPiece> pieces;  ///< one after another
  Documents documents = Documents::pieces;
  int64_t threads = 1;                                          ///< the stream does not depend on it
  std::function<void(int64_t done, int64_t of)> progress = {};  ///< bytes of text that are encoded
};

struct EncodedStream {
  TokenStream stream;
  std::string note;  ///< a line that says why the stream was not kept, else ""
};

/// The ids of all documents, one after another. Where the end of a line has an id (words), the last line of a document
/// has it too, whether its file says so or not; else TextCoder::end() stands between two documents, and only there: a
/// single document of bytes has as many tokens as bytes.
///
/// Kept in FOLDER/NAME-UNIT-<8 digits>.stream; when it is made anew: kept_file.h. Throws primal::Error for a piece that
/// is empty, cannot be read or cannot be encoded.
EncodedStream encoded_stream(const StreamRequest& request, const TextCoder& coder);

/// The bytes of such a file, made in memory.
std::string encode_pieces(const StreamRequest& request, const TextCoder& coder, std::string_view description);

}  // namespace primal::data
