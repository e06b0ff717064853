// Any bytes as a token stream, as a text for the coders, and as the JSON of a coder.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/text.h"
#include "data/text/byte_coder.h"
#include "data/text/coder_from_json.h"
#include "data/text/token_stream.h"
#include "data/text/word_coder.h"
#include "primal/error.h"

namespace {

using namespace primal;

constexpr std::size_t kHead = 80, kIdSize = 12, kTokens = 24, kDescription = 64, kIdsSum = 72, kHeadSum = 76;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

template <typename Call>
void unless_refused(const Call& call) {
  try {
    call();
  } catch (const Error&) {
  }
}

std::uint64_t number_at(std::string_view file, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, file.data() + at, bytes);
  return value;
}

/// With the checksums that it should have, so that what is behind them is reached.
std::string sealed(std::string file) {
  if (file.size() < kHead) return file;
  const std::uint64_t text = number_at(file, kDescription, 8), tokens = number_at(file, kTokens, 8);
  if (text > file.size() - kHead || tokens > file.size()) return file;
  const std::size_t ids = kHead + text, size = tokens * number_at(file, kIdSize, 4);
  if (size > file.size() - ids) return file;
  const auto put = [&](std::size_t at, const std::string& summed) {
    const std::uint32_t sum = base::crc32c(summed);
    std::memcpy(file.data() + at, &sum, sizeof sum);
  };
  put(kIdsSum, file.substr(ids, size));
  put(kHeadSum, file.substr(0, kHeadSum) + file.substr(kHead, text) + file.substr(ids + size));
  return file;
}

void check_stream(const std::string& file) {
  const std::string description =
      file.size() < kHead ? "" : file.substr(kHead, std::min(number_at(file, kDescription, 8), file.size()));
  unless_refused([&] {
    const data::TokenStream stream = data::TokenStream::from_bytes(file, "f", description);
    require(stream.size() > 0 && stream.documents() > 0, "a stream has a token and a document");
    std::vector<int64_t> ids(static_cast<std::size_t>(stream.size()));
    stream.ids(0, stream.size(), ids.data());
    for (const int64_t id : ids) require(id >= 0 && id < stream.vocabulary(), "ids are of the vocabulary");
    for (int64_t i = 0; i < stream.documents(); ++i) {
      require(stream.document_start(i) < stream.document_start(i + 1), "documents follow each other");
    }
  });
}

void check_coder(const data::TextCoder& coder, const std::string& text) {
  std::vector<int32_t> ids;
  unless_refused([&] {
    coder.encode(text, "f", ids);
    for (const int32_t id : ids) require(id >= 0 && id < coder.size(), "ids are of the coder");
    const std::string back = coder.decode(ids);
    if (coder.unit() == "bytes") require(back == text, "bytes come back");
    if (coder.unit() != "words") return;
    std::vector<int32_t> again;
    coder.encode(back, "back", again);
    require(again == ids, "words come back");
  });
}

void check_json(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return;
  unless_refused([&] {
    const auto coder = data::coder_from_json(json, "f");
    require(data::coder_from_json(coder->to_json(), "again")->fingerprint() == coder->fingerprint(), "JSON comes back");
    check_coder(*coder, "the lobster\nis red");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const data::WordCoder words({"the", "lobster", "</s>"}, 1, "fuzz");
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check_stream(bytes);
  check_stream(sealed(bytes));
  check_coder(data::ByteCoder(), bytes);
  check_coder(words, bytes);
  check_json(bytes);
  return 0;
}
