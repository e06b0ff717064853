#include "data/series/ts_header.h"

#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "base/text.h"

namespace primal::data {
namespace {

/// Takes the first word off `text`.
std::string_view take_word(std::string_view& text) {
  text = base::trim(text);
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text = base::trim(text.substr(end));
  return word;
}

/// One directive, e.g. "@classLabel true a b": its name as in the file and what follows.
struct Directive {
  const LineSource& lines;
  std::string_view name, value;

  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... expected) const {
    lines.fail(name, ": expected ", expected..., ", got ", value.empty() ? "nothing" : base::in_quotes(value));
  }

  bool flag(std::string_view text) const {
    const std::string word = base::lower(text);
    if (word != "true" && word != "false") fail("true or false");
    return word == "true";
  }

  int64_t count() const {
    int64_t result = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || stop != value.data() + value.size() || result < 1) fail("a whole number above 0");
    return result;
  }
};

void read_class_label(const Directive& directive, TsHeader& header) {
  std::string_view names = directive.value;
  header.has_labels = directive.flag(take_word(names));
  header.class_names.clear();
  std::set<std::string_view> seen;
  while (!names.empty() && header.has_labels) {
    const std::string_view name = take_word(names);
    if (!base::is_utf8(name)) directive.fail("names of classes in UTF-8");
    if (!seen.insert(name).second)
      directive.lines.fail(directive.name, ": class ", base::in_quotes(name), " is given twice");
    header.class_names.emplace_back(name);
  }
  if (header.has_labels && header.class_names.empty()) directive.fail("the names of the classes after true");
}

void read_target_label(const Directive& directive, TsHeader& header) {
  std::string_view rest = directive.value;
  header.has_targets = directive.flag(take_word(rest));
}

void read_directive(const Directive& directive, TsHeader& header) {
  const std::string name = base::lower(directive.name);
  if (name == "@problemname") {
    header.problem_name = directive.value;
  } else if (name == "@timestamps") {
    if (directive.flag(directive.value)) directive.fail(kNoTimeStamps);
  } else if (name == "@univariate") {
    header.univariate = directive.flag(directive.value);
  } else if (name == "@dimensions" || name == "@dimension") {
    header.dimensions = directive.count();
    header.dimensions_line = directive.lines.line_number();
  } else if (name == "@equallength") {
    header.equal_length = directive.flag(directive.value);
  } else if (name == "@serieslength") {
    header.series_length = directive.count();
  } else if (name == "@classlabel") {
    read_class_label(directive, header);
  } else if (name == "@targetlabel") {
    read_target_label(directive, header);
  }
}

void check(const LineSource& lines, TsHeader& header) {
  if (header.has_labels && header.has_targets) {
    lines.fail("expected @classLabel or @targetLabel to be true, got both");
  }
  if (header.univariate.value_or(false)) {
    const int64_t dimensions = header.dimensions.value_or(1);
    if (dimensions != 1) lines.fail("expected @dimensions 1 with @univariate true, got ", dimensions);
    header.dimensions = 1;
  }
}

}  // namespace

bool is_ts_comment(std::string_view line) { return line.empty() || line.starts_with('#') || line.starts_with('%'); }

TsHeader read_ts_header(LineSource& lines) {
  TsHeader header;
  for (std::string_view line; lines.next(line);) {
    line = base::trim(line);
    if (is_ts_comment(line)) continue;
    if (!line.starts_with('@')) lines.fail("expected a directive such as @data, got ", base::in_quotes(line));
    const std::string_view name = take_word(line);
    if (base::lower(name) == "@data") {
      check(lines, header);
      return header;
    }
    read_directive({lines, name, line}, header);
  }
  if (lines.line_number() == 0) base::fail(lines.name(), "is empty, expected a .ts file");
  lines.fail("expected @data, got the end of the file");
}

}  // namespace primal::data
