// Any bytes as a .ts file.
#include "series_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  primal::fuzz::check_reader(primal::data::make_ts_reader, data, size);
  return 0;
}
