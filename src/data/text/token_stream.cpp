#include "data/text/token_stream.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/crc32c.h"
#include "base/text.h"

namespace primal::data {
namespace {

constexpr std::string_view kStreamMagic = "PRMLTEXT";
constexpr uint32_t kStreamVersion = 1;
constexpr uint64_t kMostNarrow = 65536, kMostWide = std::numeric_limits<int32_t>::max();

struct StreamHead {
  std::array<char, 8> magic{};
  uint32_t version = kStreamVersion, id_size = 0;
  uint64_t vocabulary = 0, tokens = 0, documents = 0;
  uint64_t bytes = 0, words = 0, unknown = 0;
  uint64_t description = 0;  // bytes
  uint32_t ids_sum = 0, sum = 0;
};
static_assert(std::endian::native == std::endian::little, "token streams are little-endian; no swapping is written");
static_assert(std::has_unique_object_representations_v<StreamHead> && sizeof(StreamHead) == 80,
              "the head is written as it lies in memory");

uint32_t id_size_of(uint64_t vocabulary) { return vocabulary <= kMostNarrow ? 2 : 4; }

/// The file has numbers at any address.
template <typename Number>
Number number_at(std::string_view numbers, int64_t index) {
  Number value;
  std::memcpy(&value, numbers.data() + static_cast<std::size_t>(index) * sizeof value, sizeof value);
  return value;
}

uint32_t sum_of_stream_head(const StreamHead& head, std::string_view description, std::string_view starts) {
  constexpr std::size_t kSummed = sizeof head - sizeof head.sum;
  std::string summed(reinterpret_cast<const char*>(&head), kSummed);
  return base::crc32c(summed.append(description).append(starts));
}

/// The file must have exactly the bytes that its head promises.
void check_stream_size(const StreamHead& head, uint64_t size, std::string_view name) {
  // The sum cannot overflow if no part is larger than the file.
  const bool is_possible = std::max({head.tokens, head.documents, head.description}) <= size;
  const uint64_t expected =
      sizeof head + head.description + head.tokens * head.id_size + head.documents * sizeof(uint64_t);
  if (is_possible && expected == size) return;
  base::fail(name, "expected ", head.tokens, " tokens in ", head.documents, " documents and a description of ",
             head.description, " bytes, got a file of ", size, " bytes, which are not as many");
}

StreamHead parse_stream_head(std::string_view file, std::string_view name) {
  if (!file.starts_with(kStreamMagic)) {
    base::fail(name, "is no token stream: expected it to begin with ", base::in_quotes(kStreamMagic), ", got ",
               base::in_quotes(file.substr(0, kStreamMagic.size())));
  }
  StreamHead head;
  if (file.size() < sizeof head) {
    base::fail(name, "file of ", file.size(), " bytes is too short for a head of ", sizeof head);
  }
  std::memcpy(&head, file.data(), sizeof head);
  if (head.version != kStreamVersion) {
    base::fail(name, "version ", head.version, " is unknown, expected ", kStreamVersion);
  }
  if (head.vocabulary < 1 || head.vocabulary > kMostWide || head.id_size != id_size_of(head.vocabulary)) {
    base::fail(name, "expected 1 to ", kMostWide, " ids of 2 bytes, or of 4 if there are more than ", kMostNarrow,
               ", got ", head.vocabulary, " of ", head.id_size);
  }
  check_stream_size(head, file.size(), name);
  return head;
}

template <typename Id>
int64_t largest_id(std::string_view ids, int64_t count) {
  Id largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, number_at<Id>(ids, i));
  return largest;
}

template <typename Id>
void copy_ids(std::string_view ids, int64_t begin, int64_t count, int64_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = number_at<Id>(ids, begin + i);
}

}  // namespace

TokenStream TokenStream::open(const std::filesystem::path& path, std::string_view description) {
  TokenStream stream;
  stream.mapped_ = std::make_unique<base::MappedFile>(path, "a token stream");
  stream.parse(stream.mapped_->text(), path.string(), description);
  return stream;
}

TokenStream TokenStream::from_bytes(std::string bytes, std::string_view name, std::string_view description) {
  TokenStream stream;
  stream.bytes_ = std::make_unique<std::string>(std::move(bytes));
  stream.parse(*stream.bytes_, name, description);
  return stream;
}

void TokenStream::parse(std::string_view file, std::string_view name, std::string_view description) {
  const StreamHead head = parse_stream_head(file, name);
  const std::string_view found = file.substr(sizeof head, head.description);
  ids_ = file.substr(sizeof head + head.description, head.tokens * head.id_size);
  starts_ = file.substr(sizeof head + head.description + ids_.size());
  if (sum_of_stream_head(head, found, starts_) != head.sum) {
    base::fail(name, "the head is damaged: its checksum does not fit");
  }
  if (found != description) {
    base::fail(name, "is of another text: expected the description ", base::in_quotes(description), ", got ",
               base::in_quotes(found));
  }
  tokens_ = static_cast<int64_t>(head.tokens);
  vocabulary_ = static_cast<int64_t>(head.vocabulary);
  documents_ = static_cast<int64_t>(head.documents);
  is_wide_ = head.id_size == 4;
  counts_ = {.bytes = head.bytes, .words = head.words, .unknown = head.unknown};
  check_starts(name);
  if (base::crc32c(ids_) != head.ids_sum) base::fail(name, "the ids are damaged: their checksum does not fit");
  checksum_ = head.ids_sum;
  check_range(name);
}

void TokenStream::check_starts(std::string_view name) const {
  if (tokens_ == 0 || documents_ == 0) {
    base::fail(name, "expected a token and a document, got ", tokens_, " and ", documents_);
  }
  for (int64_t i = 0; i < documents_; ++i) {
    const auto start = number_at<uint64_t>(starts_, i);
    const uint64_t least = i == 0 ? 0 : number_at<uint64_t>(starts_, i - 1) + 1;
    if (start >= least && start < static_cast<uint64_t>(tokens_) && (i > 0 || start == 0)) continue;
    base::fail(name, "document ", i, ": expected it to begin at token ", least, i == 0 ? "" : " or later", ", of ",
               tokens_, ", got ", start);
  }
}

void TokenStream::check_range(std::string_view name) const {
  const int64_t largest = is_wide_ ? largest_id<uint32_t>(ids_, tokens_) : largest_id<uint16_t>(ids_, tokens_);
  if (largest >= vocabulary_) base::fail(name, "expected ids below ", vocabulary_, ", got ", largest);
}

int64_t TokenStream::document_start(int64_t document) const {
  assert(document >= 0 && document <= documents_);
  return document == documents_ ? tokens_ : static_cast<int64_t>(number_at<uint64_t>(starts_, document));
}

void TokenStream::ids(int64_t begin, int64_t count, int64_t* out) const {
  assert(begin >= 0 && count >= 0 && begin <= tokens_ - count);
  is_wide_ ? copy_ids<uint32_t>(ids_, begin, count, out) : copy_ids<uint16_t>(ids_, begin, count, out);
}

int32_t TokenStream::id(int64_t token) const {
  int64_t value = 0;
  ids(token, 1, &value);
  return static_cast<int32_t>(value);
}

TokenStreamBuilder::TokenStreamBuilder(int64_t vocabulary, std::string_view description)
    : vocabulary_(vocabulary), description_(description.size()), file_(sizeof(StreamHead), '\0') {
  file_ += description;
}

template <typename Id>
void TokenStreamBuilder::append(std::span<const int32_t> ids) {
  const std::size_t before = file_.size();
  file_.resize(before + ids.size() * sizeof(Id));
  char* next = file_.data() + before;
  for (const int32_t id : ids) {
    const auto narrow = static_cast<Id>(id);
    std::memcpy(next, &narrow, sizeof narrow);
    next += sizeof narrow;
  }
  tokens_ += ids.size();
}

void TokenStreamBuilder::add(std::span<const int32_t> ids) {
  assert(!starts_.empty());
  id_size_of(static_cast<uint64_t>(vocabulary_)) == 2 ? append<uint16_t>(ids) : append<uint32_t>(ids);
}

std::string TokenStreamBuilder::finish(const TextCounts& counts) {
  const auto vocabulary = static_cast<uint64_t>(vocabulary_);
  const std::string_view description = std::string_view(file_).substr(sizeof(StreamHead), description_);
  const std::string_view ids = std::string_view(file_).substr(sizeof(StreamHead) + description_);
  const std::string starts(reinterpret_cast<const char*>(starts_.data()), starts_.size() * sizeof(uint64_t));
  StreamHead head{.id_size = id_size_of(vocabulary),
                  .vocabulary = vocabulary,
                  .tokens = tokens_,
                  .documents = starts_.size(),
                  .bytes = counts.bytes,
                  .words = counts.words,
                  .unknown = counts.unknown,
                  .description = description_,
                  .ids_sum = base::crc32c(ids)};
  std::ranges::copy(kStreamMagic, head.magic.begin());
  head.sum = sum_of_stream_head(head, description, starts);
  std::memcpy(file_.data(), &head, sizeof head);
  return std::move(file_.append(starts));
}

}  // namespace primal::data
