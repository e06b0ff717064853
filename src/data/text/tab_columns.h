// What the tab-separated files of texts have in common: columns without quotes, one of two labels, texts as bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/series/line_source.h"

namespace primal::data {

/// The parts of the line between its tabs. Another number of them than `columns` has is an error; `names` says what
/// they are: "label, id and text".
void split_at_tabs(const LineSource& lines, std::string_view line, std::span<std::string_view> columns,
                   std::string_view names);

/// 0 or 1, as a number (1, 1.0) or as the name of one of the two classes.
int64_t read_label_of_two(const LineSource& lines, std::string_view field, std::span<const std::string> classes);

/// The first `most_bytes` bytes, in the middle of a character if need be, as the Long Range Arena cuts. `column` is for
/// the message about a text that is empty.
std::span<const uint8_t> read_text(const LineSource& lines, std::string_view field, int64_t column, int64_t most_bytes);

std::span<const uint8_t> cut_text(std::string_view text, int64_t most_bytes);

/// Throws primal::Error, "<file_name>: ...", if nothing would be left of a text.
void check_most_bytes(std::string_view file_name, int64_t most_bytes);

}  // namespace primal::data
