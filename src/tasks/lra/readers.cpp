#include "tasks/lra/readers.h"

#include <numeric>

#include "base/mapped_file.h"
#include "data/images/cifar10.h"
#include "data/images/pathfinder_file.h"
#include "data/images/pathfinder_folder.h"
#include "data/text/document_pairs.h"
#include "data/text/labelled_text.h"
#include "data/tokens/listops_reader.h"
#include "data/tokens/token_cache.h"
#include "train/order.h"

namespace primal::tasks {

namespace fs = std::filesystem;

using data::TokenSet;

namespace {

// A set that comes in one piece: 80, 10 and 10 %. Not by the seed of a run: every run faces the same TEST.
constexpr int64_t kSplitSeed = 1;

TokenSet some_of(const TokenSet& set, const std::vector<int64_t>& order, int64_t from, int64_t to) {
  return data::subset(set, std::span(order).subspan(static_cast<size_t>(from), static_cast<size_t>(to - from)));
}

TokenParts split_in_three(const TokenSet& whole) {
  const std::vector<int64_t> order = train::shuffled(whole.examples(), kSplitSeed, 0);
  const int64_t first = whole.examples() * 8 / 10, second = whole.examples() * 9 / 10;
  return {some_of(whole, order, 0, first), some_of(whole, order, first, second),
          some_of(whole, order, second, whole.examples())};
}

constexpr const char* kCacheFolder = "data/encoded";  // beside the sets of the working directory
constexpr std::uintmax_t kWorthKeeping = 16U << 20;   // bytes; smaller files are read in a hundredth of a second
constexpr const char* kReaderVersion = "1";           // changes when a reader gives other tokens than before

// What `read` makes of the source, which is parsed once and then kept as it is encoded.
template <typename Read>
TokenSet cached(const std::string& name, const fs::path& source, int64_t tokens, const Read& read) {
  const auto parsed = [&] { return read(source, tokens); };
  std::error_code ignored;
  if (fs::is_regular_file(source, ignored) && fs::file_size(source, ignored) < kWorthKeeping) return parsed();
  return data::cached_tokens(
             {.folder = kCacheFolder,
              .name = name,
              .sources = {source},
              .options = "version=" + std::string(kReaderVersion) + " tokens=" + std::to_string(tokens)},
             parsed)
      .set;
}

TokenParts read_pairs(const fs::path& place, const std::string& name, int64_t tokens) {
  const auto part = [&](const char* which) {
    return cached(name + which, place / (name + which + ".tsv"), tokens, read_pairs_file);
  };
  return {part(".train"), part(".eval"), part(".test")};
}

}  // namespace

TokenSet read_listops_file(const fs::path& file, int64_t tokens) { return data::cut(data::read_listops(file), tokens); }

TokenSet read_text_file(const fs::path& file, int64_t tokens) { return data::read_labelled_text(file, tokens); }

TokenSet read_pairs_file(const fs::path& file, int64_t tokens) { return data::read_document_pairs(file, tokens); }

TokenSet read_image_file(const fs::path& file, int64_t tokens) {
  const base::MappedFile mapped(file, "a batch of CIFAR-10");
  TokenSet set;
  data::add_cifar10_batch(set, file.string(), mapped.bytes());
  return data::cut(std::move(set), tokens);
}

TokenSet read_pathfinder_file(const fs::path& file, int64_t tokens) {
  return data::cut(data::read_pathfinder_file(file).pictures, tokens);
}

TokenParts read_listops_parts(const fs::path& place, int64_t tokens) {
  const auto part = [&](const std::string& which) {
    return cached("listops-" + which, place / ("basic_" + which + ".tsv"), tokens, read_listops_file);
  };
  return {part("train"), part("val"), part("test")};
}

TokenParts read_text_parts(const fs::path& place, int64_t tokens) {
  const bool is_tsv = fs::exists(place / "imdb_train.tsv");
  const auto part = [&](const std::string& which) {
    if (is_tsv) return cached("imdb-" + which, place / ("imdb_" + which + ".tsv"), tokens, read_text_file);
    return read_text_file(place / which, tokens);  // a cache would have to look at as many files
  };
  return {part("train"), {}, part("test")};
}

TokenParts read_aan_parts(const fs::path& place, int64_t tokens) { return read_pairs(place, "new_aan_pairs", tokens); }
TokenParts read_wikitext_parts(const fs::path& place, int64_t tokens) {
  return read_pairs(place, "article_pairs", tokens);
}

// The last tenth of TRAIN validates, as published, in the order of the files: they are shuffled.
TokenParts read_image_parts(const fs::path& place, int64_t tokens) {
  const TokenSet train = data::cut(data::read_cifar10(place, data::CifarPart::train), tokens);
  std::vector<int64_t> order(static_cast<size_t>(train.examples()));
  std::iota(order.begin(), order.end(), 0);
  const int64_t first = train.examples() * 9 / 10;
  return {some_of(train, order, 0, first), some_of(train, order, first, train.examples()),
          data::cut(data::read_cifar10(place, data::CifarPart::test), tokens)};
}

TokenParts read_pathfinder_parts(const fs::path& place, int64_t tokens) {
  const fs::path packed = place / data::pathfinder_file_name({});
  if (fs::exists(packed)) return split_in_three(read_pathfinder_file(packed, tokens));
  constexpr int64_t kSide = 32;
  const auto read = [&](const fs::path&, int64_t) { return data::read_pathfinder_folder(place, kSide).pictures; };
  return split_in_three(data::cut(cached("pathfinder", place / "metadata", kSide, read), tokens));
}

}  // namespace primal::tasks
