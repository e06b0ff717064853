#include "data/text/check_utf8.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/format.h"
#include "base/text.h"

namespace primal::data {

void check_utf8(std::string_view text, std::string_view name, int64_t first_line) {
  const std::size_t bad = std::min(base::utf8_size(text), text.find('\0'));
  if (bad >= text.size()) return;
  const std::string_view before = text.substr(0, bad);
  const int64_t line = first_line + std::ranges::count(before, '\n');
  const std::size_t column = bad - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  base::fail(std::string(name) + ":" + std::to_string(line), "column ", column, ": expected UTF-8 text, got the byte ",
             base::printed("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[bad]))));
}

}  // namespace primal::data
