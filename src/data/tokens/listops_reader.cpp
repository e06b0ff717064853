#include "data/tokens/listops_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/text.h"
#include "data/tokens/listops_expression.h"

namespace primal::data {

namespace {

constexpr std::string_view kListOpsBlanks = " ()";
// A file has up to three words of up to four letters and a blank for each token. Keeps a broken file from filling the
// memory before its tokens are counted.
constexpr std::size_t kMostListOpsBytes = 15 * kMostListOpsTokens;

// What a byte means: the number of the token in the lower four bits, and one of these.
constexpr uint8_t kOneByteToken = 0x10;
constexpr uint8_t kBetweenTokens = 0;
constexpr uint8_t kOpeningBracket = 0x40;
constexpr uint8_t kForeignByte = 0x80;

constexpr std::array<uint8_t, 256> kListOpsBytes = [] {
  std::array<uint8_t, 256> bytes{};
  bytes.fill(kForeignByte);
  for (const char blank : kListOpsBlanks) bytes[static_cast<uint8_t>(blank)] = kBetweenTokens;
  bytes['['] = kOpeningBracket;
  for (std::size_t token = 0; token < kListOpsTokens.size(); ++token) {
    const std::string_view name = kListOpsTokens[token];
    if (name.size() == 1) bytes[static_cast<uint8_t>(name[0])] = static_cast<uint8_t>(kOneByteToken | token);
  }
  return bytes;
}();

constexpr uint32_t four_bytes(char a, char b, char c, char d) {
  return std::bit_cast<uint32_t>(std::array{a, b, c, d});
}

/// The operator that begins with these four bytes, 0 if none does. Without branches, as nobody can guess which it is.
uint32_t operator_in(uint32_t bytes) {
  return kListOpsMin * uint32_t{bytes == four_bytes('[', 'M', 'I', 'N')} +
         kListOpsMax * uint32_t{bytes == four_bytes('[', 'M', 'A', 'X')} +
         kListOpsMedian * uint32_t{bytes == four_bytes('[', 'M', 'E', 'D')} +
         kListOpsSum * uint32_t{bytes == four_bytes('[', 'S', 'M', ' ')};
}

/// Writes the tokens of a source to `out`, which has room for as many as the source has bytes, and gives their number.
/// Nothing if there is anything that the files of the Long Range Arena do not have: careful_listops_tokens() then
/// looks.
std::optional<std::size_t> plain_listops_tokens(std::string_view source, uint8_t* out) {
  const char* at = source.data();
  const char* const end = at + source.size();
  const uint8_t* const first = out;
  uint32_t odd = 0, before = 0;
  while (at != end) {
    uint32_t meaning = kListOpsBytes[static_cast<uint8_t>(*at)];
    if (meaning == kOpeningBracket) {
      uint32_t bytes = 0;
      if (end - at < std::ssize(kListOpsTokens[kListOpsMin])) return std::nullopt;
      std::memcpy(&bytes, at, sizeof bytes);
      const uint32_t operation = operator_in(bytes);
      if (operation == 0) return std::nullopt;
      at += kListOpsTokens[operation].size();
      meaning = kOneByteToken | operation;
    } else {
      ++at;
    }
    *out = meaning & 0x0f;
    out += meaning >> 4 & 1;
    odd |= (meaning & kForeignByte) | (meaning & before & kOneByteToken);  // two tokens with nothing between them
    before = meaning;
  }
  if (odd != 0) return std::nullopt;
  return static_cast<std::size_t>(out - first);
}

/// The same word by word, with errors.
std::size_t careful_listops_tokens(std::string_view source, uint8_t* out, const LineSource& lines) {
  const uint8_t* const first = out;
  for (std::size_t start = 0; (start = source.find_first_not_of(kListOpsBlanks, start)) != source.npos;) {
    const std::size_t end = std::min(source.find_first_of(kListOpsBlanks, start), source.size());
    const std::string_view word = source.substr(start, end - start);
    const auto token = std::ranges::find(kListOpsTokens, word);
    if (token == kListOpsTokens.end()) {
      lines.fail("expected a digit, [MIN, [MAX, [MED, [SM or ] at column ", start + 1, ", got ", base::in_quotes(word));
    }
    *out++ = static_cast<uint8_t>(token - kListOpsTokens.begin());
    start = end;
  }
  return static_cast<std::size_t>(out - first);
}

int64_t listops_label(std::string_view text, const LineSource& lines) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '9') {
    lines.fail("expected a label from 0 to 9, got ", base::in_quotes(text));
  }
  return text[0] - '0';
}

[[noreturn]] void fail_at_long_listops(const LineSource& lines) {
  lines.fail("expected an expression of up to ", kMostListOpsTokens, " tokens, got a longer one");
}

void read_listops_example(std::string_view line, const LineSource& lines, std::vector<uint8_t>& buffer, TokenSet& set) {
  const std::size_t tab = line.find('\t');
  if (tab == line.npos) lines.fail("expected an expression, a tab and a label, got ", base::in_quotes(line));
  const std::string_view source = line.substr(0, tab);
  if (source.size() > kMostListOpsBytes) fail_at_long_listops(lines);
  if (buffer.size() < source.size()) buffer.resize(source.size());
  const std::optional<std::size_t> plain = plain_listops_tokens(source, buffer.data());
  const std::size_t tokens = plain ? *plain : careful_listops_tokens(source, buffer.data(), lines);
  if (tokens == 0) lines.fail("expected an expression before the tab, got ", base::in_quotes(source));
  if (tokens > kMostListOpsTokens) fail_at_long_listops(lines);
  set.add(listops_label(line.substr(tab + 1), lines), std::span(buffer).first(tokens));
}

}  // namespace

TokenSet read_listops(LineSource lines) {
  TokenSet set;
  for (std::size_t digit = 0; digit < 10; ++digit) set.classes.emplace_back(kListOpsTokens[digit]);
  std::string_view line;
  if (!lines.next(line)) base::fail(lines.name(), "expected a line Source<tab>Target, got an empty file");
  if (line != kListOpsHeader) lines.fail("expected a line Source<tab>Target, got ", base::in_quotes(line));
  std::vector<uint8_t> buffer;
  while (lines.next(line)) read_listops_example(line, lines, buffer, set);
  if (set.examples() == 0) lines.fail("expected at least one example after this line, got the end of the file");
  return set;
}

TokenSet read_listops(const std::filesystem::path& path) {
  const base::MappedFile file(path, "a ListOps file");
  return read_listops(LineSource(path.string(), file.text()));
}

}  // namespace primal::data
