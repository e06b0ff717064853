#include "data/images/pathfinder_folder.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <tuple>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "base/write_failure.h"
#include "data/images/grey_png.h"
#include "data/images/pathfinder_image.h"

namespace primal::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBlanks = " \t";

/// The next word of the line, which is cut from it; "" at its end.
std::string_view take_metadata_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

/// Whether a path stays below the folder it is relative to.
bool stays_below(const fs::path& path) { return path.is_relative() && std::ranges::find(path, "..") == path.end(); }

PathfinderEntry parse_metadata_line(std::string_view line, const LineSource& lines) {
  const std::string_view where = take_metadata_word(line), name = take_metadata_word(line),
                         number = take_metadata_word(line);
  const std::string_view label = take_metadata_word(line);
  if (number.empty() || label.empty()) {
    lines.fail("expected at least 4 words (folder, file, number, label), got ", where.empty()    ? 0
                                                                                : name.empty()   ? 1
                                                                                : number.empty() ? 2
                                                                                                 : 3);
  }
  if (label != "0" && label != "1")
    lines.fail("expected the label 0 or 1 as the 4th word, got ", base::in_quotes(label));
  PathfinderEntry entry{fs::path(where) / name, static_cast<uint8_t>(label == "1"), lines.line_number()};
  if (!stays_below(entry.image)) {
    lines.fail("expected a picture below the folder, got ", base::in_quotes(entry.image.string()));
  }
  return entry;
}

/// metadata/*.npy, batch 2 before batch 10.
std::vector<fs::path> metadata_files(const fs::path& folder) {
  std::vector<fs::path> result;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "metadata", error)) {
    if (entry.path().extension() == ".npy") result.push_back(entry.path());
  }
  if (error) base::fail((folder / "metadata").string(), "cannot list: ", error.message());
  if (result.empty()) base::fail((folder / "metadata").string(), "expected files <batch>.npy, got none");
  std::ranges::sort(result, {}, [](const fs::path& file) {
    const std::string name = file.stem().string();
    return std::tuple(name.size(), name);
  });
  return result;
}

std::vector<PathfinderEntry> read_metadata(const fs::path& path) {
  const base::MappedFile file(path, "a text of metadata");
  if (file.text().starts_with("\x93NUMPY")) {
    base::fail(path.string(), "expected lines of text as the Long Range Arena has them, got a NumPy array");
  }
  return parse_pathfinder_metadata(LineSource(path.string(), file.text()));
}

/// Of one line of the metadata; `source` is "<file>:<line>".
void add_picture(const fs::path& folder, const PathfinderEntry& entry, const std::string& source, int64_t size,
                 PathfinderFolder& into) {
  const fs::path path = folder / entry.image;
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error) base::fail(source, "cannot read ", path.string(), ": ", error.message());
  if (bytes == 0) {
    ++into.empty_files;
    return;
  }
  const GreyPicture picture = read_grey_png(path);
  if (picture.width != size || picture.height != size) {
    base::fail(source, path.string(), " has ", picture.width, " x ", picture.height, " pixels, expected ", size, " x ",
               size);
  }
  into.pictures.add(entry.label, picture.pixels);
}

void write_picture(const fs::path& path, const std::string& png) {
  std::ofstream file(path, std::ios::binary);
  file << png << std::flush;
  if (!file) base::fail_writing(path, "write");
}

void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) base::fail_writing(path, "make", error);
}

/// What follows the label in a line of the metadata.
std::string facts_of_line(const PathfinderOptions& options, int64_t margin) {
  constexpr int kContrasts = 1;
  std::ostringstream text;
  text.imbue(std::locale::classic());
  const bool is_whole = options.continuity == std::floor(options.continuity);  // Python writes 1.0, not 1
  text << ' ' << options.continuity << (is_whole ? ".0 " : " ") << options.contour_length << ' '
       << options.distractor_length << ' ' << options.dash_length << ' ' << options.thickness << ' ' << margin << ' '
       << kContrasts << '\n';
  return text.str();
}

void write_batch(const fs::path& folder, const PathfinderOptions& options, const PathfinderBatch& batch) {
  const std::string number = std::to_string(batch.number), where = "imgs/" + number;
  make_directory(folder / where);
  std::string metadata;
  const int64_t area = options.size * options.size;
  for (int64_t k = 0; k < std::ssize(batch.labels); ++k) {
    const std::string name = "sample_" + std::to_string(k) + ".png";
    const std::span pixels = std::span(batch.pixels).subspan(k * area, area);
    write_picture(folder / where / name, encode_grey_png(options.size, options.size, pixels));
    metadata += where + " " + name + " " + std::to_string(k) + " " + std::to_string(batch.labels[k]) +
                facts_of_line(options, batch.margins[k]);
  }
  base::write_file_atomically(folder / "metadata" / (number + ".npy"), metadata);
}

}  // namespace

std::vector<PathfinderEntry> parse_pathfinder_metadata(LineSource lines) {
  std::vector<PathfinderEntry> result;
  for (std::string_view line; lines.next(line);) {
    if (!base::trim(line).empty()) result.push_back(parse_metadata_line(base::trim(line), lines));
  }
  return result;
}

PathfinderFolder read_pathfinder_folder(const fs::path& folder, int64_t size, const PathfinderProgress& progress) {
  require_png_support(folder.string());
  std::vector<std::pair<fs::path, std::vector<PathfinderEntry>>> batches;
  int64_t of = 0, done = 0;
  for (const fs::path& file : metadata_files(folder)) {
    batches.emplace_back(file, read_metadata(file));
    of += std::ssize(batches.back().second);
  }
  PathfinderFolder result;
  result.pictures.classes = kPathfinderClasses;
  for (const auto& [file, entries] : batches) {
    for (const PathfinderEntry& entry : entries) {
      add_picture(folder, entry, file.string() + ":" + std::to_string(entry.line), size, result);
      if (progress) progress(++done, of);
    }
  }
  if (result.pictures.examples() == 0) base::fail(folder.string(), "expected at least one picture, got none");
  return result;
}

bool make_pathfinder_folder(const fs::path& folder, const PathfinderOrder& order) {
  require_png_support(folder.string());
  for (const char* const part : {"imgs", "metadata"}) {
    std::error_code ignored;
    if (fs::exists(folder / part, ignored)) {
      base::fail(folder.string(), "has ", part, "/ already; expected a folder without pictures");
    }
  }
  make_directory(folder / "imgs");
  make_directory(folder / "metadata");
  return make_pathfinder_batches(order,
                                 [&](const PathfinderBatch& batch) { write_batch(folder, order.options, batch); });
}

}  // namespace primal::data
