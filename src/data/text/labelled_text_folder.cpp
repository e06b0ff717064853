// The archive of IMDB as it is unpacked: a file per review.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/text.h"
#include "data/search_path.h"
#include "data/text/labelled_text.h"
#include "data/text/tab_columns.h"

namespace primal::data {
namespace {

namespace fs = std::filesystem;

/// 12 of "12_7.txt"; a name without number comes after all that have one.
uint64_t review_number(const std::string& name) {
  uint64_t number = std::numeric_limits<uint64_t>::max();
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

std::vector<fs::path> review_files(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) base::fail(folder.string(), "expected a folder of reviews, got none");
  std::vector<std::pair<uint64_t, std::string>> names;
  for (const fs::path& path : entries(folder)) {
    std::string name = path.filename().string();
    if (name.ends_with(".txt")) names.emplace_back(review_number(name), std::move(name));
  }
  if (names.empty()) base::fail(folder.string(), "expected reviews such as 0_3.txt, got no file that ends in .txt");
  std::ranges::sort(names);
  std::vector<fs::path> files;
  for (const auto& [number, name] : names) files.push_back(folder / name);
  return files;
}

void add_review(TokenSet& set, int64_t label, const fs::path& path, int64_t most_bytes) {
  const base::MappedFile file(path, "a text");
  const std::string_view text = file.text();
  if (text.empty()) base::fail(path.string(), "is empty, expected a text");
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    base::fail(path.string(), "expected text, got a zero byte at byte ", zero + 1, " (is the file binary or UTF-16?)");
  }
  set.add(label, cut_text(text, most_bytes));
}

}  // namespace

TokenSet read_labelled_folder(const fs::path& directory, int64_t most_bytes) {
  check_most_bytes(directory.string(), most_bytes);
  TokenSet set{.classes = {"neg", "pos"}};
  for (int64_t label = 0; label < std::ssize(set.classes); ++label) {
    for (const fs::path& path : review_files(directory / set.classes[label])) add_review(set, label, path, most_bytes);
  }
  return set;
}

}  // namespace primal::data
