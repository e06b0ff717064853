// Any bytes as a packed file of tokens.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/crc32c.h"
#include "data/tokens/token_file.h"
#include "token_set_fuzz.h"

namespace {

using namespace primal;

constexpr std::size_t kHead = 64, kPerExample = 12, kExamples = 16, kTokens = 24, kDescription = 32, kNames = 40;
constexpr std::size_t kSums = 48, kHeadSum = 60;

template <typename Number>
Number number_at(std::string_view file, std::size_t at) {
  Number value = 0;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

void put_sum(std::string& file, std::size_t at, std::string_view summed) {
  const std::uint32_t sum = base::crc32c(summed);
  std::memcpy(file.data() + at, &sum, sizeof sum);
}

/// The description that the file has, as far as it has one.
std::string description_of(std::string_view file) {
  if (file.size() < kHead) return "";
  return std::string(file.substr(kHead, number_at<std::uint64_t>(file, kDescription)));
}

void check(std::string_view file) {
  const auto set =
      fuzz::read_tokens([&] { return data::parse_token_file(file, fuzz::kTokenFileName, description_of(file)); });
  if (!set) return;
  const std::size_t memory = set->bytes.size() + set->labels.size() + set->ends.size() * 8 + set->classes.size() * 4;
  fuzz::require_of_tokens(memory < file.size(), "memory is bounded by the file");
  fuzz::require_of_tokens(set->per_example == 1 || set->per_example == 2, "an example is one sequence or a pair");
  fuzz::require_of_tokens(std::ssize(set->ends) == set->examples() * set->per_example, "every sequence has an end");
  fuzz::require_of_tokens((set->ends.empty() ? 0 : set->ends.back()) == set->bytes.size(), "the last end is the end");
  fuzz::require_of_tokens(std::ranges::is_sorted(set->ends), "sequences follow each other");
  for (const std::uint8_t label : set->labels) {
    fuzz::require_of_tokens(label < set->classes.size(), "a label is one of the classes");
  }
}

/// The file with the checksums that it should have, as far as its parts are where its head says.
std::string with_right_checksums(std::string file) {
  if (file.size() < kHead) return file;
  const auto size_at = [&](std::size_t at) {
    return std::min<std::uint64_t>(number_at<std::uint64_t>(file, at), file.size());
  };
  const std::uint64_t texts = size_at(kDescription) + size_at(kNames), examples = size_at(kExamples);
  const std::array<std::uint64_t, 3> parts = {examples, examples * number_at<std::uint32_t>(file, kPerExample) * 8,
                                              size_at(kTokens)};
  std::uint64_t start = kHead + texts;
  for (std::size_t i = 0; i < parts.size() && start <= file.size(); ++i) {
    put_sum(file, kSums + 4 * i, std::string_view(file).substr(start, parts[i]));
    start += parts[i];
  }
  put_sum(file, kHeadSum, file.substr(0, kHeadSum) + file.substr(kHead, texts));
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  check(file);
  check(with_right_checksums(file));  // most mutations make a checksum wrong, which hides what is behind it
  return 0;
}
