// Any bytes as a packed file of Pathfinder pictures, and as the metadata of a folder of them: either a one-line
// primal::Error or what keeps its promises.
#include <primal/error.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/crc32c.h"
#include "base/text.h"
#include "data/images/pathfinder_file.h"
#include "data/images/pathfinder_folder.h"

namespace {

namespace data = primal::data;

constexpr std::string_view kFileName = "fuzz";

void require(bool condition, const char* promise) {  // assert() is off in a release build
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

template <typename Work>
void with_good_errors(const Work& work) {
  try {
    work();
  } catch (const primal::Error& error) {
    const std::string_view message = error.what();
    require(message.starts_with("fuzz:"), "an error begins with the file name");
    require(message.find_first_of("\r\n") == message.npos, "an error is one line");
    require(message.size() < 2000, "an error does not grow with the file");
    require(primal::base::is_utf8(message), "an error is UTF-8");
  }
}

void check_packed(std::string_view text) {
  with_good_errors([&] {
    const data::PathfinderFile file = data::parse_pathfinder_file(text, kFileName);
    const data::TokenSet& set = file.pictures;
    require(set.examples() > 0, "a file that is read has a picture");
    require(set.bytes.size() + set.labels.size() + file.how.size() <= text.size(), "memory is bounded by the file");
    require(set.ends.size() == set.labels.size(), "every picture has an end");
    require(set.bytes.size() == set.ends.back(), "the last picture ends with the pixels");
    for (std::int64_t i = 0; i < set.examples(); ++i) {
      require(set.length(i) == file.size * file.size, "every picture has its pixels");
      require(set.labels[i] < set.classes.size(), "a label is one of the classes");
    }
  });
}

void put_checksum(std::string& file, std::size_t at, std::uint32_t sum) {
  for (int i = 0; i < 4; ++i) file[at + i] = static_cast<char>(sum >> (8 * i));
}

/// The file with the checksums of its head and its first pictures as they should be.
std::string with_right_checksums(std::string file) {
  constexpr std::size_t kHead = 32, kTextSize = 24, kSum = 28;
  if (file.size() < kHead) return file;
  const std::size_t text_size = std::min<std::size_t>(static_cast<std::uint8_t>(file[kTextSize]), file.size() - kHead);
  put_checksum(file, kSum, primal::base::crc32c(file.substr(0, kSum) + file.substr(kHead, text_size)));
  const std::size_t pictures = kHead + text_size + 4;
  if (file.size() > pictures) put_checksum(file, pictures - 4, primal::base::crc32c(file.substr(pictures)));
  return file;
}

void check_metadata(std::string_view text) {
  with_good_errors([&] {
    std::int64_t last = 0;
    for (const auto& [image, label, line] : data::parse_pathfinder_metadata({std::string(kFileName), text})) {
      require(label <= 1, "a label is one of the classes");
      require(line > last, "lines are counted");
      require(image.is_relative() && std::ranges::find(image, "..") == image.end(), "pictures are below the folder");
      last = line;
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(bytes), size);
  check_packed(file);
  check_packed(with_right_checksums(file));  // most mutations make a checksum wrong, which hides what is behind it
  check_metadata(file);
  return 0;
}
