#include "data/tables/feature_writer.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/in_parallel.h"
#include "data/safetensors_header.h"

namespace primal::data {
namespace {

std::string safetensors_head(const FeatureWriterOptions& options) {
  SafetensorsEntry entry;
  entry.name = "features";
  entry.dtype = options.is_double ? SafetensorsDtype::F64 : SafetensorsDtype::F32;
  entry.shape = {options.rows, options.columns};
  entry.end = static_cast<std::uint64_t>(options.rows * options.columns * info(entry.dtype).size);
  SafetensorsHeader header;
  header.entries = {entry};
  return format_safetensors_header(header);
}

std::string csv_head(int64_t columns) {
  std::string line;
  for (int64_t i = 1; i <= columns; ++i) line += (i > 1 ? ",feature_" : "feature_") + std::to_string(i);
  return line + "\n";
}

}  // namespace

template <typename T>
std::string csv_lines(std::span<const T> values, int64_t columns) {
  constexpr std::size_t kLongest = 32;  // characters of a number and what follows it
  std::string text(values.size() * kLongest, '\0');
  char* at = text.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    at = std::to_chars(at, at + kLongest - 1, values[i]).ptr;
    *at++ = (static_cast<int64_t>(i) + 1) % columns == 0 ? '\n' : ',';
  }
  text.resize(static_cast<std::size_t>(at - text.data()));
  return text;
}
template std::string csv_lines(std::span<const float>, int64_t);
template std::string csv_lines(std::span<const double>, int64_t);

FeatureWriter::FeatureWriter(const FeatureWriterOptions& options, Taker taker)
    : options_(options), taker_(std::move(taker)) {
  taker_(options.is_safetensors ? safetensors_head(options) : csv_head(options.columns));
}

template <typename T>
void FeatureWriter::write_rows(std::span<const T> rows) {
  if (options_.is_safetensors) {
    return taker_({reinterpret_cast<const char*>(rows.data()), rows.size_bytes()});
  }
  // Writing numbers as text takes longer than it took to compute them: all threads work on pieces.
  const std::size_t piece = static_cast<std::size_t>(options_.columns) * 4096;
  std::vector<std::string> texts((rows.size() + piece - 1) / piece);
  base::in_parallel(std::ssize(texts), options_.threads, [&](int64_t i) {
    const std::size_t first = static_cast<std::size_t>(i) * piece;
    texts[static_cast<std::size_t>(i)] =
        csv_lines(rows.subspan(first, std::min(piece, rows.size() - first)), options_.columns);
  });
  for (const std::string& text : texts) taker_(text);
}
template void FeatureWriter::write_rows(std::span<const float>);
template void FeatureWriter::write_rows(std::span<const double>);

}  // namespace primal::data
