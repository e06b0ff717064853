#include "data/images/pathfinder_file.h"

#include <algorithm>

#include "base/atomic_file.h"
#include "base/crc32c.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "data/images/pathfinder_image.h"

namespace primal::data {
namespace {

constexpr std::string_view kPackedMagic = "PRMLPATH";
constexpr uint64_t kPackedVersion = 1;
constexpr size_t kHeadSize = 32, kChecksumSize = 4;
constexpr uint64_t kMostSide = 4096;

void put_number(std::string& into, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) into += static_cast<char>(value >> (8 * i));
}

uint64_t number_at(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  return value;
}

std::string packed_head(const PathfinderOrder& order) {
  const std::string how = to_text(order.options) + "seed = " + std::to_string(order.seed) + "\n";
  std::string head(kPackedMagic);
  put_number(head, kPackedVersion, 4);
  put_number(head, static_cast<uint64_t>(order.options.size), 4);
  put_number(head, static_cast<uint64_t>(order.count), 8);
  put_number(head, how.size(), 4);
  put_number(head, base::crc32c(head + how), 4);
  return head + how;
}

std::string packed_batch(const PathfinderBatch& batch) {
  std::string content(batch.labels.begin(), batch.labels.end());
  content.append(batch.pixels.begin(), batch.pixels.end());
  std::string result;
  put_number(result, base::crc32c(content), kChecksumSize);
  return result + content;
}

struct PackedHead {
  uint64_t size = 0, count = 0;
  std::string_view how{};
};

PackedHead parse_packed_head(std::string_view file, std::string_view name) {
  if (!file.starts_with(kPackedMagic)) {
    base::fail(name, "is no packed file of pictures: expected it to begin with ", base::in_quotes(kPackedMagic),
               ", got ", base::in_quotes(file.substr(0, kPackedMagic.size())));
  }
  if (file.size() < kHeadSize)
    base::fail(name, "file of ", file.size(), " bytes is too short for a head of ", kHeadSize);
  const uint64_t version = number_at(file, 8, 4);
  if (version != kPackedVersion) base::fail(name, "version ", version, " is unknown, expected ", kPackedVersion);
  const PackedHead head{number_at(file, 12, 4), number_at(file, 16, 8), {}};
  const uint64_t text_size = number_at(file, 24, 4);
  if (text_size > file.size() - kHeadSize) {
    base::fail(name, "a text of ", text_size, " bytes does not fit into the file of ", file.size());
  }
  const std::string_view how = file.substr(kHeadSize, text_size);
  if (base::crc32c(std::string(file.substr(0, kHeadSize - kChecksumSize)).append(how)) != number_at(file, 28, 4)) {
    base::fail(name, "the head is damaged: its checksum does not fit");
  }
  if (head.size < 1 || head.size > kMostSide) {
    base::fail(name, "size ", head.size, " of the pictures is not between 1 and ", kMostSide);
  }
  if (head.count < 1) base::fail(name, "expected at least one picture, got none");
  return {head.size, head.count, how};
}

/// The file must have exactly the pictures that its head promises; nothing is allocated before.
void check_file_size(const PackedHead& head, uint64_t bytes, std::string_view name) {
  const uint64_t per_picture = head.size * head.size + 1;
  const auto batches = [&] { return (head.count + kPathfinderBatch - 1) / kPathfinderBatch; };
  const bool is_possible = head.count <= bytes;  // the products below cannot overflow then
  const uint64_t expected = is_possible ? head.count * per_picture + batches() * kChecksumSize : 0;
  if (is_possible && expected == bytes) return;
  base::fail(name, "expected ", head.count, " pictures of ", head.size, " x ", head.size, " pixels, got ", bytes,
             " bytes, which are not as many");
}

void add_packed_batch(std::string_view content, uint64_t first, uint64_t pictures, std::string_view name,
                      TokenSet& into) {
  const std::string_view labels = content.substr(0, pictures), pixels = content.substr(pictures);
  const auto wrong = std::ranges::find_if(labels, [](char label) { return label != 0 && label != 1; });
  if (wrong != labels.end()) {
    base::fail(name, "picture ", first + static_cast<uint64_t>(wrong - labels.begin()),
               ": expected the label 0 or 1, got ", int{static_cast<uint8_t>(*wrong)});
  }
  into.labels.insert(into.labels.end(), labels.begin(), labels.end());
  into.bytes.insert(into.bytes.end(), pixels.begin(), pixels.end());
}

}  // namespace

std::string pathfinder_file_name(const PathfinderOptions& options) {
  return "pathfinder" + std::to_string(options.size) + "_contour_" + std::to_string(options.contour_length) + ".images";
}

bool make_pathfinder_file(const std::filesystem::path& path, const PathfinderOrder& order) {
  base::AtomicFile file(path);
  const auto write = [&](const std::string& bytes) { file.write(bytes.data(), bytes.size()); };
  write(packed_head(order));
  if (!make_pathfinder_batches(order, [&](const PathfinderBatch& batch) { write(packed_batch(batch)); })) return false;
  file.commit();
  return true;
}

PathfinderFile parse_pathfinder_file(std::string_view file, std::string_view name) {
  const PackedHead head = parse_packed_head(file, name);
  file.remove_prefix(kHeadSize + head.how.size());
  check_file_size(head, file.size(), name);
  const uint64_t area = head.size * head.size;
  PathfinderFile result{.size = static_cast<int64_t>(head.size), .how = std::string(head.how)};
  TokenSet& set = result.pictures;
  set.classes = kPathfinderClasses;
  set.labels.reserve(head.count);
  set.bytes.reserve(head.count * area);
  for (uint64_t first = 0; first < head.count; first += kPathfinderBatch) {
    const uint64_t pictures = std::min<uint64_t>(kPathfinderBatch, head.count - first);
    const std::string_view content = file.substr(kChecksumSize, pictures * (area + 1));
    if (base::crc32c(content) != number_at(file, 0, kChecksumSize)) {
      base::fail(name, "pictures ", first, " to ", first + pictures - 1, " are damaged: their checksum does not fit");
    }
    add_packed_batch(content, first, pictures, name, set);
    file.remove_prefix(kChecksumSize + content.size());
  }
  for (uint64_t i = 1; i <= head.count; ++i) set.ends.push_back(i * area);
  return result;
}

PathfinderFile read_pathfinder_file(const std::filesystem::path& path) {
  const base::MappedFile file(path, "a packed file of pictures");
  return parse_pathfinder_file(file.text(), path.string());
}

}  // namespace primal::data
