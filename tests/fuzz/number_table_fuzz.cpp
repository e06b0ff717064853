// Any bytes as a table of numbers: a one-line primal::Error, or finite numbers that fill rows and columns.
#include <primal/error.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/text.h"
#include "data/tables/feature_writer.h"
#include "data/tables/number_table.h"

namespace {

using primal::data::LineSource;
using primal::data::NumberTable;

constexpr std::string_view kFileName = "fuzz";

void require(bool condition, const char* promise) {  // assert() is off in a release build
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

std::optional<NumberTable> read(std::string_view text) {
  try {
    return primal::data::read_number_table(LineSource(std::string(kFileName), text));
  } catch (const primal::Error& error) {
    const std::string_view message = error.what();
    require(message.starts_with("fuzz:"), "an error begins with the file name");
    require(message.find_first_of("\r\n") == message.npos, "an error is one line");
    require(message.size() < 2000, "an error does not grow with the file");
    require(primal::base::is_utf8(message), "an error is UTF-8");
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::optional<NumberTable> table = read({reinterpret_cast<const char*>(data), size});
  if (!table) return 0;
  require(table->rows > 0 && table->columns > 0, "a table that is read has a number");
  require(table->values.size() == static_cast<std::size_t>(table->rows * table->columns), "every row has all columns");
  require(table->values.size() <= size, "a number takes at least a byte of the text");
  require(table->names.empty() || std::ssize(table->names) == table->columns, "all columns or none have a name");
  for (const double value : table->values) require(std::isfinite(value), "a number is finite");
  const std::string lines = primal::data::csv_lines(std::span<const double>(table->values), table->columns);
  const std::optional<NumberTable> again = read(lines);
  require(again && again->values == table->values, "numbers that are written are read back");
  return 0;
}
