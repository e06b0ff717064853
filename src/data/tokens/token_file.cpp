#include "data/tokens/token_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/atomic_file.h"
#include "base/crc32c.h"
#include "base/mapped_file.h"
#include "base/text.h"

namespace primal::data {
namespace {

constexpr std::string_view kTokenMagic = "PRMLTOKS";
constexpr uint32_t kTokenVersion = 1;

struct TokenFileHead {
  std::array<char, 8> magic{};
  uint32_t version = kTokenVersion, per_example = 0;
  uint64_t examples = 0, tokens = 0;
  uint64_t description = 0, names = 0;  // bytes
  uint32_t labels_sum = 0, ends_sum = 0, tokens_sum = 0;
  uint32_t sum = 0;

  uint64_t ends_size() const { return examples * per_example * sizeof(uint64_t); }
};
static_assert(std::endian::native == std::endian::little, "token files are little-endian; no swapping is written");
static_assert(std::has_unique_object_representations_v<TokenFileHead> && sizeof(TokenFileHead) == 64,
              "the head is written as it lies in memory");

template <typename Values>
std::string_view memory_of(const Values& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

/// `texts`: description and class names.
uint32_t sum_of_head(const TokenFileHead& head, std::string_view texts) {
  constexpr size_t kSummed = sizeof head - sizeof head.sum;
  return base::crc32c(std::string(reinterpret_cast<const char*>(&head), kSummed).append(texts));
}

std::string packed_names(const std::vector<std::string>& names) {
  std::string result;
  for (const std::string& name : names) {
    const auto size = static_cast<uint32_t>(name.size());
    result.append(reinterpret_cast<const char*>(&size), sizeof size).append(name);
  }
  return result;
}

std::vector<std::string> unpacked_names(std::string_view packed, std::string_view file_name) {
  std::vector<std::string> names;
  while (!packed.empty()) {
    uint32_t size = 0;
    const bool has_size = packed.size() >= sizeof size;
    if (has_size) std::memcpy(&size, packed.data(), sizeof size);
    if (!has_size || size > packed.size() - sizeof size) {
      base::fail(file_name, "the name of class ", names.size(), " does not fit into the bytes of the names");
    }
    names.emplace_back(packed.substr(sizeof size, size));
    packed.remove_prefix(sizeof size + size);
  }
  return names;
}

/// Whether its parts fit together. Asked before writing as well: a file that cannot be read must not be made.
void check_token_set(const TokenSet& set, std::string_view file_name) {
  if (set.ends.size() != set.labels.size() * static_cast<size_t>(set.per_example)) {
    base::fail(file_name, "expected ", set.per_example, " sequences for each of ", set.labels.size(), " labels, got ",
               set.ends.size(), " sequences");
  }
  const auto is_no_class = [&](uint8_t label) { return label >= set.classes.size(); };
  if (const auto wrong = std::ranges::find_if(set.labels, is_no_class); wrong != set.labels.end()) {
    base::fail(file_name, "example ", wrong - set.labels.begin(), ": expected a label below the number of classes, ",
               set.classes.size(), ", got ", int{*wrong});
  }
  if (const auto wrong = std::ranges::is_sorted_until(set.ends); wrong != set.ends.end()) {
    base::fail(file_name, "sequence ", wrong - set.ends.begin(),
               ": expected an end at or after that of the one before, ", *(wrong - 1), ", got ", *wrong);
  }
  const uint64_t end = set.ends.empty() ? 0 : set.ends.back();
  if (end != set.bytes.size()) {
    base::fail(file_name, "expected the last sequence to end with the tokens, at ", set.bytes.size(), ", got ", end);
  }
}

void check_per_example(int64_t per_example, std::string_view file_name) {
  if (per_example == 1 || per_example == 2) return;
  base::fail(file_name, "expected 1 or 2 sequences per example, got ", per_example);
}

/// The file must have exactly the bytes that its head promises; nothing is allocated before.
void check_token_file_size(const TokenFileHead& head, uint64_t size, std::string_view file_name) {
  // The sum cannot overflow if no part is larger than the file.
  const bool is_possible = std::max({head.examples, head.tokens, head.description, head.names}) <= size;
  const uint64_t expected =
      sizeof head + head.description + head.names + head.examples + head.ends_size() + head.tokens;
  if (is_possible && expected == size) return;
  base::fail(file_name, "expected ", head.examples, " examples with ", head.tokens, " tokens, a description of ",
             head.description, " and class names of ", head.names, " bytes, got a file of ", size,
             " bytes, which are not as many");
}

TokenFileHead parse_token_head(std::string_view file, std::string_view file_name) {
  if (!file.starts_with(kTokenMagic)) {
    base::fail(file_name, "is no file of tokens: expected it to begin with ", base::in_quotes(kTokenMagic), ", got ",
               base::in_quotes(file.substr(0, kTokenMagic.size())));
  }
  TokenFileHead head;
  if (file.size() < sizeof head) {
    base::fail(file_name, "file of ", file.size(), " bytes is too short for a head of ", sizeof head);
  }
  std::memcpy(&head, file.data(), sizeof head);
  if (head.version != kTokenVersion) {
    base::fail(file_name, "version ", head.version, " is unknown, expected ", kTokenVersion);
  }
  check_per_example(head.per_example, file_name);
  check_token_file_size(head, file.size(), file_name);
  if (sum_of_head(head, file.substr(sizeof head, head.description + head.names)) != head.sum) {
    base::fail(file_name, "the head is damaged: its checksum does not fit");
  }
  return head;
}

/// The next `size` bytes of the file, which are cut from it.
std::string_view take_summed(std::string_view& rest, uint64_t size, uint32_t sum, const char* what,
                             std::string_view file_name) {
  const std::string_view bytes = rest.substr(0, size);
  rest.remove_prefix(size);
  if (base::crc32c(bytes) != sum) base::fail(file_name, "the ", what, " are damaged: their checksum does not fit");
  return bytes;
}

// From a range of the same type, which is copied at once and not filled with zeros before.
std::vector<uint8_t> small_numbers(std::string_view bytes) {
  const auto* const first = reinterpret_cast<const uint8_t*>(bytes.data());
  return {first, first + bytes.size()};
}

// The file has them at any address, where they cannot be read as numbers.
std::vector<uint64_t> large_numbers(std::string_view bytes) {
  std::vector<uint64_t> numbers(bytes.size() / sizeof(uint64_t));
  std::ranges::copy(bytes, reinterpret_cast<char*>(numbers.data()));
  return numbers;
}

}  // namespace

void write_token_file(const std::filesystem::path& path, const TokenSet& set, std::string_view description) {
  check_per_example(set.per_example, path.string());
  check_token_set(set, path.string());
  const std::string names = packed_names(set.classes), texts = std::string(description).append(names);
  TokenFileHead head{.per_example = static_cast<uint32_t>(set.per_example),
                     .examples = set.labels.size(),
                     .tokens = set.bytes.size(),
                     .description = description.size(),
                     .names = names.size(),
                     .labels_sum = base::crc32c(memory_of(set.labels)),
                     .ends_sum = base::crc32c(memory_of(set.ends)),
                     .tokens_sum = base::crc32c(memory_of(set.bytes))};
  std::ranges::copy(kTokenMagic, head.magic.begin());
  head.sum = sum_of_head(head, texts);
  base::AtomicFile file(path);
  file.write(&head, sizeof head);
  for (const std::string_view part :
       {std::string_view(texts), memory_of(set.labels), memory_of(set.ends), memory_of(set.bytes)}) {
    file.write(part.data(), part.size());
  }
  file.commit();
}

TokenSet parse_token_file(std::string_view file, std::string_view name, std::string_view description) {
  const TokenFileHead head = parse_token_head(file, name);
  std::string_view rest = file.substr(sizeof head);
  const std::string_view found = rest.substr(0, head.description);
  if (found != description) {
    base::fail(name, "is of another set: expected the description ", base::in_quotes(description), ", got ",
               base::in_quotes(found));
  }
  TokenSet set{.per_example = head.per_example,
               .classes = unpacked_names(rest.substr(head.description, head.names), name)};
  rest.remove_prefix(head.description + head.names);
  set.labels = small_numbers(take_summed(rest, head.examples, head.labels_sum, "labels", name));
  set.ends = large_numbers(take_summed(rest, head.ends_size(), head.ends_sum, "ends of sequences", name));
  set.bytes = small_numbers(take_summed(rest, head.tokens, head.tokens_sum, "tokens", name));
  check_token_set(set, name);
  return set;
}

TokenSet read_token_file(const std::filesystem::path& path, std::string_view description) {
  const base::MappedFile file(path, "a file of tokens");
  return parse_token_file(file.text(), path.string(), description);
}

}  // namespace primal::data
