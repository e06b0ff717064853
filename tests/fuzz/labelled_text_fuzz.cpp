// Any bytes as lines of labelled texts.
#include "data/text/labelled_text.h"
#include "token_set_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace primal;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const int64_t most_bytes : {3, 4000}) {  // of which one cuts what a fuzzer writes
    const auto set = fuzz::read_tokens([&] {
      return data::read_labelled_text(data::LineSource(std::string(fuzz::kTokenFileName), text), most_bytes);
    });
    if (set) fuzz::check_tokens(*set, 1, most_bytes, size);
  }
  return 0;
}
