#include "data/text/byte_coder.h"

#include <nlohmann/json.hpp>

namespace primal::data {

void ByteCoder::append_ids(std::string_view text, std::string_view, std::vector<int32_t>& ids,
                           const EncodeOptions&) const {
  const auto* const first = reinterpret_cast<const uint8_t*>(text.data());
  ids.insert(ids.end(), first, first + text.size());
}

std::string ByteCoder::text_of(int32_t id, std::optional<int32_t>) const {
  return id < kEnd ? std::string(1, static_cast<char>(id)) : "";
}

nlohmann::json ByteCoder::to_json() const { return {{"unit", unit()}}; }

}  // namespace primal::data
