// An encoded text as one file, which is mapped and not read: a gigabyte of text is at hand at once. Numbers are
// little-endian:
//
//   8 bytes  "PRMLTEXT"
//   u32      version, 1
//   u32      bytes of an id, 2 or 4: 2 if there are at most 65,536 ids
//   u64      ids that the coder has; all below are smaller
//   u64      tokens
//   u64      documents
//   u64 x 3  bytes of the source text, its words, and the tokens that stand for unknown words
//   u64      bytes of the description below
//   u32      CRC-32C of the ids
//   u32      CRC-32C of the 76 bytes above, of the description and of the starts
//   text     description: what the stream was made from
//   u16 or u32 per token
//   u64 per document   the token it begins with; the first is 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace primal::data {

struct TextCounts {
  uint64_t bytes = 0;    ///< of the source text: for bits per byte
  uint64_t words = 0;    ///< whitespace words and one per line, as WikiText is counted: for perplexity per word
  uint64_t unknown = 0;  ///< tokens with the id of unknown words

  bool operator==(const TextCounts&) const = default;
};

class TokenStream {
 public:
  /// Every number is checked, the checksum of the ids and their range as well: 200 MB that the system has in memory
  /// take less than a tenth of a second, and what a training would read wrong is never noticed later. Throws
  /// primal::Error,
  /// "<path>: ...", also if the file has another description.
  static TokenStream open(const std::filesystem::path& path, std::string_view description);
  /// The same of the bytes of a file, which are kept; `name` begins the message of an error.
  static TokenStream from_bytes(std::string bytes, std::string_view name, std::string_view description);

  int64_t size() const { return tokens_; }            ///< tokens
  int64_t vocabulary() const { return vocabulary_; }  ///< ids that the coder has
  const TextCounts& counts() const { return counts_; }
  uint32_t checksum() const { return checksum_; }  ///< of the ids
  int64_t documents() const { return documents_; }
  int64_t document_start(int64_t document) const;  ///< its first token; size() for document == documents()

  /// Tokens begin .. begin + count - 1, which must be there, as int64: what embeddings take.
  void ids(int64_t begin, int64_t count, int64_t* out) const;
  int32_t id(int64_t token) const;

  /// The file.
  std::string_view bytes() const { return mapped_ ? mapped_->text() : std::string_view(*bytes_); }

 private:
  TokenStream() = default;
  void parse(std::string_view file, std::string_view name, std::string_view description);
  void check_starts(std::string_view name) const;
  void check_range(std::string_view name) const;

  // One of them has the file, into which the two below point.
  std::unique_ptr<base::MappedFile> mapped_;
  std::unique_ptr<std::string> bytes_;
  std::string_view starts_, ids_;
  int64_t tokens_ = 0, vocabulary_ = 0, documents_ = 0;
  bool is_wide_ = false;  // 4 bytes per id
  uint32_t checksum_ = 0;
  TextCounts counts_;
};

/// Makes the bytes of a file, in one piece of memory.
class TokenStreamBuilder {
 public:
  TokenStreamBuilder(int64_t vocabulary, std::string_view description);

  void begin_document() { starts_.push_back(tokens_); }
  /// Ids of the vocabulary, after the first begin_document().
  void add(std::span<const int32_t> ids);
  /// The file; the builder is used up.
  std::string finish(const TextCounts& counts);

 private:
  template <typename Id>
  void append(std::span<const int32_t> ids);

  int64_t vocabulary_;
  std::size_t description_;  // bytes
  uint64_t tokens_ = 0;
  std::vector<uint64_t> starts_;
  std::string file_;  // with room for the head
};

}  // namespace primal::data
