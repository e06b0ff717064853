#include "data/text/encoded_stream.h"

#include <algorithm>

#include "base/atomic_file.h"
#include "base/in_parallel.h"
#include "base/text.h"
#include "data/text/split_words.h"
#include "data/tokens/kept_file.h"

namespace primal::data {
namespace {

constexpr const char* kStreamOptions = "version=1";  // changes when the same text and coder give another stream
constexpr std::size_t kWavePerThread = 4U << 20;     // bytes of text that are encoded before their ids are stored

struct EncodedChunk {
  std::vector<int32_t> ids;
  uint64_t words = 0, unknown = 0;
};

std::vector<int32_t> ids_of_chunk(const TextChunk& chunk, const TextCoder& coder) {
  std::vector<int32_t> ids;
  try {
    coder.encode(chunk.text, chunk.source->name(), ids);
  } catch (const Error&) {  // the lines before it are counted only now, for the message
    ids.clear();
    coder.encode(chunk.text, chunk.source->name(), ids, {.first_line = chunk.source->line_of(chunk.text.data())});
  }
  return ids;
}

EncodedChunk encoded_chunk(const TextChunk& chunk, const TextCoder& coder) {
  EncodedChunk result{.ids = ids_of_chunk(chunk, coder)};
  const auto count = [&](auto&&...) { ++result.words; };
  split_words(chunk.text, count, count);
  if (chunk.ends_document && !chunk.text.ends_with('\n')) {
    ++result.words;
    if (coder.ends_lines()) result.ids.push_back(coder.end());
  }
  if (const auto unknown = coder.unknown()) {
    result.unknown = static_cast<uint64_t>(std::ranges::count(result.ids, *unknown));
  }
  return result;
}

/// As many chunks as the threads have to do at one go, at least one.
std::size_t wave_size(std::span<const TextChunk> chunks, int64_t threads) {
  const std::size_t most = kWavePerThread * static_cast<std::size_t>(threads);
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < chunks.size() && bytes < most; ++count) bytes += chunks[count].text.size();
  return count;
}

/// Everything that the stream depends on but the state of the files.
std::string stream_options(const StreamRequest& request, const TextCoder& coder) {
  std::string options = std::string(kStreamOptions) + " coder=" + coder.fingerprint() +
                        " documents=" + (request.documents == Documents::articles ? "articles" : "pieces");
  for (const TextPiece& piece : request.pieces) {
    if (piece.begin == 0 && piece.end == TextPiece::kWhole) continue;
    const auto number = &piece - request.pieces.data();
    options += " piece " + std::to_string(number) + "=" + std::to_string(piece.begin) + ".." +
               (piece.end == TextPiece::kWhole ? "" : std::to_string(piece.end));
  }
  return options;
}

}  // namespace

std::string encode_pieces(const StreamRequest& request, const TextCoder& coder, std::string_view description) {
  if (request.pieces.empty()) base::fail(request.name, "expected a text file at least, got none");
  const std::vector<TextSource> sources = open_pieces(request.pieces);
  const std::vector<TextChunk> chunks = chunks_of(sources, request.documents);
  TextCounts counts;
  const uint64_t bytes = bytes_of(sources);
  TokenStreamBuilder builder(coder.size(), description);
  const int32_t end = coder.end();
  for (std::span<const TextChunk> rest = chunks; !rest.empty();) {
    if (request.progress) request.progress(static_cast<int64_t>(counts.bytes), static_cast<int64_t>(bytes));
    std::vector<EncodedChunk> wave(wave_size(rest, request.threads));
    base::in_parallel(std::ssize(wave), request.threads, [&](int64_t i) {
      const auto index = static_cast<std::size_t>(i);
      wave[index] = encoded_chunk(rest[index], coder);
    });
    for (const EncodedChunk& encoded : wave) {
      const TextChunk& chunk = rest.front();
      rest = rest.subspan(1);
      if (chunk.begins_document) builder.begin_document();
      builder.add(encoded.ids);
      if (chunk.ends_document && !rest.empty() && !coder.ends_lines()) builder.add({&end, 1});
      counts.bytes += chunk.text.size();
      counts.words += encoded.words;
      counts.unknown += encoded.unknown;
    }
  }
  if (request.progress) request.progress(static_cast<int64_t>(bytes), static_cast<int64_t>(bytes));
  return builder.finish(counts);
}

EncodedStream encoded_stream(const StreamRequest& request, const TextCoder& coder) {
  KeptRequest kept{.folder = request.folder,
                   .name = request.name + "-" + std::string(coder.unit()),
                   .ending = ".stream",
                   .options = stream_options(request, coder)};
  for (const TextPiece& piece : request.pieces) kept.sources.push_back(piece.file);

  const auto open = [](const KeptFile& file) { return TokenStream::open(file.file, file.description); };
  const auto make = [&](const KeptFile& file) {
    return TokenStream::from_bytes(encode_pieces(request, coder, file.description), request.name, file.description);
  };
  const auto write = [&](const KeptFile& file, TokenStream& stream) {
    base::write_file_atomically(file.file, stream.bytes());
    stream = open(file);  // and the memory is free again
  };
  auto result = kept_or_made(kept, open, make, write);
  return {std::move(result.value), std::move(result.note)};
}

}  // namespace primal::data
