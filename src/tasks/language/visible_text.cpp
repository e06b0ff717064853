#include "tasks/language/visible_text.h"

#include "base/format.h"
#include "base/text.h"

namespace primal::tasks {

namespace {

std::string as_number(char byte) {
  return base::printed("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
}

// c: part of UTF-8 text
std::string visible_byte(char c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
      return "\\\\";
    default:
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? as_number(c) : std::string(1, c);
  }
}

}  // namespace

std::string visible_text(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t good = base::utf8_size(text);
    for (const char c : text.substr(0, good)) shown += visible_byte(c);
    if (good < text.size()) shown += as_number(text[good]);
    text.remove_prefix(std::min(good + 1, text.size()));
  }
  return shown;
}

}  // namespace primal::tasks
