#include "data/images/cifar10.h"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>

#include "base/mapped_file.h"
#include "base/text.h"

namespace primal::data {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 10> kCifarClasses = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                            "dog",      "frog",       "horse", "ship", "truck"};

using ShareOfGrey = std::array<float, 256>;

/// What each value of a channel adds to the grey value, 1 being white. Rounded here at each step: in a loop a compiler
/// may join product and sum to one rounding, which changes the grey of about 2 colours in a million.
constexpr ShareOfGrey share_of_grey(float weight) {
  constexpr float kScale = 1.0F / 255.0F;  // TensorFlow multiplies with it, and does not divide
  ShareOfGrey share{};
  for (std::size_t value = 0; value < share.size(); ++value) {
    const float scaled = static_cast<float>(value) * kScale;
    share[value] = scaled * weight;
  }
  return share;
}

constexpr ShareOfGrey kRedShare = share_of_grey(0.2989F);
constexpr ShareOfGrey kGreenShare = share_of_grey(0.5870F);
constexpr ShareOfGrey kBlueShare = share_of_grey(0.1140F);

std::vector<fs::path> cifar10_batches(const fs::path& folder, CifarPart part) {
  if (part == CifarPart::test) return {folder / "test_batch.bin"};
  std::vector<fs::path> batches;
  for (int number = 1; number <= 5; ++number)
    batches.push_back(folder / ("data_batch_" + std::to_string(number) + ".bin"));
  return batches;
}

/// The lines of batches.meta.txt that are not blank.
std::vector<std::string> cifar10_classes(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {kCifarClasses.begin(), kCifarClasses.end()};
  const base::MappedFile file(path, "a file of class names");
  std::vector<std::string> names;
  for (std::string_view rest = file.text(); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const std::string_view name = base::trim(line); !name.empty()) names.emplace_back(name);
  }
  if (names.size() != kCifarClasses.size()) {
    base::fail(path.string(), "expected the names of ", kCifarClasses.size(), " classes, one per line, got ",
               names.size());
  }
  return names;
}

}  // namespace

uint8_t grey_value(uint8_t red, uint8_t green, uint8_t blue) {
  const float grey = kRedShare[red] + kGreenShare[green] + kBlueShare[blue];
  return static_cast<uint8_t>(grey * 255.5F);
}

void add_cifar10_batch(TokenSet& set, std::string_view file_name, std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() % kCifarRecord != 0) {
    base::fail(file_name, "expected records of ", kCifarRecord, " bytes (label, 1024 red, 1024 green, 1024 blue), got ",
               bytes.size(), " bytes");
  }
  std::array<uint8_t, kCifarPixels> grey{};
  for (std::size_t start = 0; start < bytes.size(); start += kCifarRecord) {
    const auto* const record = reinterpret_cast<const uint8_t*>(bytes.data() + start);
    if (record[0] >= kCifarClasses.size()) {
      base::fail(file_name, "record ", start / kCifarRecord + 1, ": expected a label from 0 to 9, got ",
                 static_cast<int>(record[0]));
    }
    const uint8_t* const red = record + 1;
    const uint8_t* const green = red + kCifarPixels;
    const uint8_t* const blue = green + kCifarPixels;
    for (std::size_t i = 0; i < kCifarPixels; ++i) grey[i] = grey_value(red[i], green[i], blue[i]);
    set.add(record[0], grey);
  }
}

TokenSet read_cifar10(const fs::path& folder, CifarPart part) {
  TokenSet set{.classes = cifar10_classes(folder / "batches.meta.txt")};
  for (const fs::path& path : cifar10_batches(folder, part)) {
    const base::MappedFile file(path, "a batch of CIFAR-10");
    add_cifar10_batch(set, path.string(), file.bytes());
  }
  return set;
}

}  // namespace primal::data
