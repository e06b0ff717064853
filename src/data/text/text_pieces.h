// The files that a text is in, and the parts in which it is worked on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace primal::data {

/// A file, or the bytes begin .. end - 1 of it; or a text that is in memory already, of which `file` is the name.
struct TextPiece {
  static constexpr uint64_t kWhole = ~uint64_t{0};
  std::filesystem::path file;
  uint64_t begin = 0, end = kWhole;
  std::shared_ptr<const std::string> text{};
};

/// What a document is: each piece as a whole, or each article of a WikiText file (wikitext_articles.h). What stands
/// before the first article belongs to it; a piece without any is one document.
enum class Documents { pieces, articles };

/// An open piece. Throws primal::Error, "<path>: ...", also for one without a byte.
class TextSource {
 public:
  explicit TextSource(const TextPiece& piece);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  /// The number in the file, from 1, of the line that a place in text() is on.
  int64_t line_of(const char* place) const;

 private:
  std::string name_;
  std::unique_ptr<base::MappedFile> file_;
  std::shared_ptr<const std::string> given_;
  std::string_view text_;
};

std::vector<TextSource> open_pieces(std::span<const TextPiece> pieces);
uint64_t bytes_of(std::span<const TextSource> sources);

/// Some lines of a document, about a megabyte if there are more: what one thread works on at a time. A document is cut
/// at the ends of lines only, at the same places whatever the number of threads.
struct TextChunk {
  const TextSource* source;
  std::string_view text;
  bool begins_document, ends_document;
};

std::vector<TextChunk> chunks_of(std::span<const TextSource> sources, Documents documents);

}  // namespace primal::data
