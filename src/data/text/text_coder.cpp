#include "data/text/text_coder.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/crc32c.h"
#include "base/text.h"

namespace primal::data {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";

std::string with_replacements(std::string_view text) {
  std::string result;
  for (;;) {
    const std::size_t good = base::utf8_size(text);
    result += text.substr(0, good);
    if (good == text.size()) return result;
    result += kReplacement;
    text.remove_prefix(good + 1);
  }
}

}  // namespace

std::string TextCoder::decode(std::span<const int32_t> ids) const {
  std::string text;
  std::optional<int32_t> before;
  for (const int32_t id : ids) {
    text += text_of(id, before);
    before = id;
  }
  return text;
}

std::string TextCoder::fingerprint() const {
  return std::string(unit()) + "-" + std::to_string(size()) + "-" + base::crc32c_text(to_json().dump());
}

std::string TextDecoder::add(int32_t id) {
  held_ += coder_.text_of(id, before_);
  before_ = id;
  std::string unfinished = held_.substr(held_.size() - base::unfinished_utf8(held_));
  held_.resize(held_.size() - unfinished.size());
  return with_replacements(std::exchange(held_, std::move(unfinished)));
}

std::string TextDecoder::finish() {
  const bool is_cut = !std::exchange(held_, "").empty();
  return std::string(is_cut ? kReplacement : "");
}

}  // namespace primal::data
