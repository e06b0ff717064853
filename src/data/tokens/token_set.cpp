#include "data/tokens/token_set.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"

namespace primal::data {

namespace {

void append_sequence(TokenSet& set, std::span<const uint8_t> sequence) {
  set.bytes.insert(set.bytes.end(), sequence.begin(), sequence.end());
  set.ends.push_back(set.bytes.size());
}

}  // namespace

void TokenSet::add(int64_t label, std::span<const uint8_t> sequence) {
  append_sequence(*this, sequence);
  labels.push_back(static_cast<uint8_t>(label));
}

void TokenSet::add(int64_t label, std::span<const uint8_t> first, std::span<const uint8_t> second) {
  append_sequence(*this, first);
  append_sequence(*this, second);
  labels.push_back(static_cast<uint8_t>(label));
}

std::span<const uint8_t> TokenSet::sequence(int64_t example, int64_t which) const {
  const auto number = static_cast<size_t>(example * per_example + which);
  const uint64_t start = number == 0 ? 0 : ends[number - 1];
  return std::span(bytes).subspan(start, ends[number] - start);
}

TokenSet subset(const TokenSet& set, std::span<const int64_t> examples) {
  TokenSet result{.per_example = set.per_example, .classes = set.classes};
  for (const int64_t example : examples) {
    for (int64_t which = 0; which < set.per_example; ++which) append_sequence(result, set.sequence(example, which));
    result.labels.push_back(set.labels[static_cast<size_t>(example)]);
  }
  return result;
}

void append(TokenSet& set, const TokenSet& more) {
  const uint64_t before = set.bytes.size();
  set.bytes.insert(set.bytes.end(), more.bytes.begin(), more.bytes.end());
  for (const uint64_t end : more.ends) set.ends.push_back(before + end);
  set.labels.insert(set.labels.end(), more.labels.begin(), more.labels.end());
}

TokenSet cut(TokenSet set, int64_t tokens) {
  uint64_t start = 0;
  const auto is_longer = [&](uint64_t end) { return end - std::exchange(start, end) > static_cast<uint64_t>(tokens); };
  if (std::ranges::none_of(set.ends, is_longer)) return set;
  TokenSet result{.per_example = set.per_example, .classes = std::move(set.classes), .labels = std::move(set.labels)};
  start = 0;
  for (const uint64_t end : set.ends) {
    append_sequence(
        result, std::span(set.bytes).subspan(start, std::min<uint64_t>(end - start, static_cast<uint64_t>(tokens))));
    start = end;
  }
  return result;
}

std::string fingerprint_of(const TokenSet& set) {
  const auto text_of = [](const auto& values) {
    return base::crc32c_text({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
  };
  std::string names;
  for (const std::string& name : set.classes) names += name + '\0';
  return text_of(set.bytes) + text_of(set.ends) + text_of(set.labels) + text_of(names);
}

}  // namespace primal::data
