// What is no text is refused before it becomes words.
#pragma once

#include <cstdint>
#include <string_view>

namespace primal::data {

/// Throws primal::Error, "<name>:<line>: column 7: expected UTF-8 text, got the byte \xff", for bytes that are no UTF-8
/// and for zero bytes, which are UTF-8 and a sign of a file that is no text. Columns count bytes from 1.
void check_utf8(std::string_view text, std::string_view name, int64_t first_line = 1);

}  // namespace primal::data
