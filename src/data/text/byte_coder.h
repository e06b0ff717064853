// Text as bytes: ids 0 to 255 are the bytes, 256 is the end of a document. Any file can be encoded so.
#pragma once

#include "data/text/text_coder.h"

namespace primal::data {

class ByteCoder final : public TextCoder {
 public:
  static constexpr int32_t kEnd = 256;

  std::string_view unit() const override { return "bytes"; }
  int64_t size() const override { return kEnd + 1; }
  int32_t end() const override { return kEnd; }
  /// The end of a document has no text.
  std::string text_of(int32_t id, std::optional<int32_t> before) const override;
  nlohmann::json to_json() const override;

 private:
  void append_ids(std::string_view text, std::string_view name, std::vector<int32_t>& ids,
                  const EncodeOptions& options) const override;
};

}  // namespace primal::data
