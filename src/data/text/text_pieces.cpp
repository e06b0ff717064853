#include "data/text/text_pieces.h"

#include <algorithm>

#include "base/text.h"
#include "data/text/wikitext_articles.h"

namespace primal::data {
namespace {

constexpr std::size_t kChunk = 1U << 20;

/// Where the documents of a text begin; the first at 0.
std::vector<std::size_t> document_starts(std::string_view text, Documents documents) {
  std::vector<std::size_t> starts;
  if (documents == Documents::articles) starts = article_starts(text);
  if (starts.empty()) starts.push_back(0);
  starts.front() = 0;
  return starts;
}

std::size_t chunk_size(std::string_view text) {
  if (text.size() <= kChunk) return text.size();
  const std::size_t line_end = text.find('\n', kChunk - 1);
  return line_end == text.npos ? text.size() : line_end + 1;
}

void append_document(std::vector<TextChunk>& chunks, const TextSource& source, std::string_view document) {
  bool begins = true;
  while (!document.empty()) {
    const std::size_t size = chunk_size(document);
    chunks.push_back({&source, document.substr(0, size), begins, size == document.size()});
    document.remove_prefix(size);
    begins = false;
  }
}

}  // namespace

TextSource::TextSource(const TextPiece& piece) : name_(piece.file.string()), given_(piece.text) {
  if (!given_) file_ = std::make_unique<base::MappedFile>(piece.file, "a text file");
  const std::string_view whole = given_ ? std::string_view(*given_) : file_->text();
  if (whole.empty()) base::fail(name_, "is empty, expected text");
  const std::size_t end = piece.end == TextPiece::kWhole ? whole.size() : piece.end;
  if (piece.begin >= end || end > whole.size()) {
    base::fail(name_, "expected the bytes ", piece.begin, " to ", end, ", got a file of ", whole.size());
  }
  text_ = whole.substr(piece.begin, end - piece.begin);
}

int64_t TextSource::line_of(const char* place) const { return 1 + std::count(file_->text().data(), place, '\n'); }

std::vector<TextSource> open_pieces(std::span<const TextPiece> pieces) {
  std::vector<TextSource> sources;
  for (const TextPiece& piece : pieces) sources.emplace_back(piece);
  return sources;
}

uint64_t bytes_of(std::span<const TextSource> sources) {
  uint64_t bytes = 0;
  for (const TextSource& source : sources) bytes += source.text().size();
  return bytes;
}

std::vector<TextChunk> chunks_of(std::span<const TextSource> sources, Documents documents) {
  std::vector<TextChunk> chunks;
  for (const TextSource& source : sources) {
    const std::string_view text = source.text();
    std::vector<std::size_t> starts = document_starts(text, documents);
    starts.push_back(text.size());
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      append_document(chunks, source, text.substr(starts[i], starts[i + 1] - starts[i]));
    }
  }
  return chunks;
}

}  // namespace primal::data
