#include "data/text/coder_from_json.h"

#include <nlohmann/json.hpp>

#include "base/json_fields.h"
#include "base/text.h"
#include "data/text/byte_coder.h"
#include "data/text/subword_coder.h"
#include "data/text/word_coder.h"

namespace primal::data {

std::unique_ptr<TextCoder> coder_from_json(const nlohmann::json& object, const std::string& where) {
  if (!object.is_object()) base::fail(where, "expected an object that says how text is encoded");
  const std::string unit = base::Fields(object, where).text("unit");
  if (unit == "words") return word_coder_from_json(object, where);
  if (unit == "bytes") return std::make_unique<ByteCoder>();
  if (unit == "subwords") return subword_coder_from_json(object, where);
  base::fail(where, "field \"unit\": expected words, bytes or subwords, got ", base::in_quotes(unit));
}

}  // namespace primal::data
