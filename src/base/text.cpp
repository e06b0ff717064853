#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

namespace primal::base {

using Json = nlohmann::json;

namespace {

/// What begins with a byte: how many bytes the character has (0: none begins so), and the bounds of the second one,
/// which keep out longer forms than needed, surrogates and what lies beyond U+10FFFF (table 3-7 of the Unicode
/// standard).
struct Utf8Form {
  std::size_t bytes = 0;
  unsigned char low = 0x80, high = 0xBF;
};

Utf8Form form_of(char byte) {
  const auto lead = static_cast<unsigned char>(byte);
  if (lead < 0x80) return {1};
  if (lead < 0xC2 || lead > 0xF4) return {0};
  if (lead < 0xE0) return {2};
  if (lead < 0xF0) return lead == 0xE0 ? Utf8Form{3, 0xA0} : lead == 0xED ? Utf8Form{3, 0x80, 0x9F} : Utf8Form{3};
  return lead == 0xF0 ? Utf8Form{4, 0x90} : lead == 0xF4 ? Utf8Form{4, 0x80, 0x8F} : Utf8Form{4};
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// How many bytes of the first character are there and right.
std::size_t good_bytes(std::string_view text) {
  const Utf8Form form = form_of(text[0]);
  std::size_t good = form.bytes == 0 ? 0 : 1;
  for (; good < std::min(form.bytes, text.size()); ++good) {
    const auto byte = static_cast<unsigned char>(text[good]);
    if (good == 1 ? byte < form.low || byte > form.high : !is_continuation(text[good])) break;
  }
  return good;
}

bool begins_with_eight_ascii(std::string_view text) {
  std::uint64_t bytes = 0;
  if (text.size() < sizeof bytes) return false;
  std::memcpy(&bytes, text.data(), sizeof bytes);
  return (bytes & 0x8080808080808080) == 0;
}

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\v\f";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower_letter);
  return result;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return parts;
}

std::string joined(std::span<const std::string> words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

bool is_utf8(std::string_view text) { return utf8_size(text) == text.size(); }

std::size_t utf8_size(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size()) {
    if (begins_with_eight_ascii(text.substr(size))) {
      size += 8;
      continue;
    }
    const std::size_t wanted = form_of(text[size]).bytes;
    if (wanted == 0 || good_bytes(text.substr(size)) < wanted) break;
    size += wanted;
  }
  return size;
}

std::size_t unfinished_utf8(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    if (is_continuation(tail[0])) continue;
    return form_of(tail[0]).bytes > back && good_bytes(tail) == back ? back : 0;
  }
  return 0;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;  // bytes; a name may be as long as a file
  std::string result = Json(text.substr(0, kLongest)).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongest) result.insert(result.size() - 1, "...");
  return result;
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./,:@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace primal::base
