#include "data/text/document_pairs.h"

#include <array>
#include <string_view>

#include "base/mapped_file.h"
#include "base/text.h"
#include "data/text/tab_columns.h"

namespace primal::data {

TokenSet read_document_pairs(LineSource lines, int64_t most_bytes) {
  check_most_bytes(lines.name(), most_bytes);
  TokenSet set{.per_example = 2, .classes = {"unrelated", "related"}};
  std::array<std::string_view, 5> columns;
  for (std::string_view line; lines.next(line);) {
    split_at_tabs(lines, line, columns, "label, id, id, text, text");
    const int64_t label = read_label_of_two(lines, columns[0], set.classes);
    const auto first = read_text(lines, columns[3], 4, most_bytes);
    const auto second = read_text(lines, columns[4], 5, most_bytes);
    set.add(label, first, second);
  }
  if (set.examples() == 0) base::fail(lines.name(), "is empty, expected pairs of documents");
  return set;
}

TokenSet read_document_pairs(const std::filesystem::path& path, int64_t most_bytes) {
  const base::MappedFile file(path, "a file of document pairs");
  return read_document_pairs(LineSource(path.string(), file.text()), most_bytes);
}

}  // namespace primal::data
