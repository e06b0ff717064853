#include "data/text/labelled_text.h"

#include <array>
#include <string_view>
#include <system_error>

#include "base/mapped_file.h"
#include "base/text.h"
#include "data/text/tab_columns.h"

namespace primal::data {

TokenSet read_labelled_text(LineSource lines, int64_t most_bytes) {
  check_most_bytes(lines.name(), most_bytes);
  TokenSet set{.classes = {"neg", "pos"}};
  std::array<std::string_view, 4> columns;
  for (std::string_view line; lines.next(line);) {
    split_at_tabs(lines, line, columns, "label, rating, id, text");
    const int64_t label = read_label_of_two(lines, columns[0], set.classes);
    set.add(label, read_text(lines, columns[3], 4, most_bytes));
  }
  if (set.examples() == 0) base::fail(lines.name(), "is empty, expected labelled texts");
  return set;
}

TokenSet read_labelled_text(const std::filesystem::path& path, int64_t most_bytes) {
  std::error_code ignored;  // what cannot be looked at cannot be opened either, and says so below
  if (std::filesystem::is_directory(path, ignored)) return read_labelled_folder(path, most_bytes);
  const base::MappedFile file(path, "a file of labelled texts");
  return read_labelled_text(LineSource(path.string(), file.text()), most_bytes);
}

}  // namespace primal::data
